internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let transformers = Page(
        id: "transformers",
        title: tr("Transformers"),
        summary: tr(
            "Transformers change an image before it is shown, off the main thread, in the time beside each name. Chains with the same first steps share them."
        ),
        uses: ["transformer:", "TransformerTile("],
        parts: ["TransformerTile.swift"]
    ) { context in
        let tiles = tiles(context.fresh("astronaut.jpg"))
        let upright = (1...8).map { number in
            let picture = sizedPicture(width: 76, height: 57)
            picture.setImage(with: context.server.url("lighthouse.jpg", .rotated, serial: number))
            return captioned(picture.widget, "EXIF \(number)")
        }
        let heading = label(tr("Files with the eight EXIF orientations, which are shown upright"), "caption")
        let parts = [flow(tiles.map(\.widget), columns: 5), heading, flow(upright, columns: 8)]
        return PageContent(box(GTK_ORIENTATION_VERTICAL, spacing: 18, parts), owner: tiles as AnyObject)
    }

    @MainActor
    private static func tiles(_ url: URL) -> [TransformerTile] {
        let blurred = TransformerTile(tr("Blurred"), of: url, value: 8, in: 0...30) { .blur($0) }
        let chained = TransformerTile(tr("Blurred, then sepia"), of: url) { [weak blurred] _ in
            .blur(blurred?.value ?? 0) + .sepia
        }
        blurred.onChange = { [weak chained] in chained?.show() }
        return [
            TransformerTile(tr("Original"), of: url) { _ in nil },
            TransformerTile(tr("Rounded"), of: url, value: 24, in: 0...66) { .rounded($0) },
            TransformerTile(tr("Circle"), of: url, value: 4, in: 0...20) {
                .circle(border: ImageBorder(width: $0, color: ImageColor(0x3584E4)))
            },
            blurred, chained,
            TransformerTile(tr("Mirrored"), of: url) { _ in .flip(horizontally: true) },
            TransformerTile(tr("Greyscale"), of: url) { _ in .grayscale },
            TransformerTile(tr("Sepia"), of: url) { _ in .sepia },
            TransformerTile(tr("Tinted"), of: url, value: 0.5, in: 0...1) { .tint(ImageColor(0x3584E4, alpha: $0)) },
            TransformerTile(tr("Rotated"), of: url, value: 15, in: -180...180) { .rotate(degrees: $0) },
            TransformerTile(tr("Brightness"), of: url, value: 0.25, in: -1...1) { .brightness($0) },
            TransformerTile(tr("Contrast"), of: url, value: 1.6, in: 0...3) { .contrast($0) },
            TransformerTile(tr("Saturation"), of: url, value: 2, in: 0...3) { .saturation($0) },
            TransformerTile(tr("Hue"), of: url, value: 120, in: 0...360) { .hueRotation(degrees: $0) },
            TransformerTile(tr("Gamma"), of: url, value: 0.5, in: 0.2...3) { .gamma($0) },
        ]
    }
}
