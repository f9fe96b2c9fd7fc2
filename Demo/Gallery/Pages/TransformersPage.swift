internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let transformers = Page(
        id: "transformers",
        title: tr("Transformers"),
        summary: tr(
            "Transformers change an image before it is shown, off the main thread. Chains with the same first steps share them."
        ),
        code: """
            picture.setImage(with: url, transformer: .rounded(24))
            avatar.setImage(with: url, transformer: .circle(border: ImageBorder(width: 4, color: .white)))
            picture.setImage(with: url, transformer: .blur(8) + .sepia)
            """
    ) { context in
        let url = context.fresh("astronaut.jpg")
        let ways: [(String, ImageTransformer?)] = [
            (tr("Original"), nil), (tr("Rounded"), .rounded(24)),
            (tr("Circle"), .circle(border: ImageBorder(width: 4, color: .white))), (tr("Blurred"), .blur(8)),
            (tr("Greyscale"), .grayscale), (tr("Sepia"), .sepia),
            (tr("Tinted"), .tint(ImageColor(0x3584E4, alpha: 0.5))),
            (tr("Brighter"), .brightness(0.25)), (tr("High contrast"), .contrast(1.6)),
            (tr("Saturated"), .saturation(2)),
            (tr("Rotated"), .rotate(degrees: 15)), (tr("Mirrored"), .flip(horizontally: true)),
            (tr("Blurred, then sepia"), .blur(8) + .sepia),
        ]
        let pictures = ways.map { _ in sizedPicture(width: 140, height: 140, covers: false) }
        for (picture, way) in zip(pictures, ways) { picture.setImage(with: url, transformer: way.1) }
        return PageContent(flow(zip(pictures, ways).map { captioned($0.widget, $1.0) }), waitsFor: pictures)
    }

    @MainActor
    private static func sample(_ picture: Picture, avatar: Button, url: URL) {
        picture.setImage(with: url, transformer: .rounded(24))
        avatar.setImage(with: url, transformer: .circle(border: ImageBorder(width: 4, color: .white)))
        picture.setImage(with: url, transformer: .blur(8) + .sepia)
    }
}
