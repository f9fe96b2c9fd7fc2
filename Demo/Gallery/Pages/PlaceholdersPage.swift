internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let placeholders = Page(
        id: "placeholders",
        title: tr("Placeholders"),
        summary: tr(
            "An icon, a colour, a blurred image from a hash of a few bytes, or another image takes the place of an image that is still loading."
        ),
        code: """
            picture.setImage(with: url, placeholder: .icon("image-x-generic-symbolic", pixelSize: 48))
            picture.setImage(with: url, placeholder: .color(ImageColor(0x3584E4)))
            picture.setImage(with: url, placeholder: BlurHash("LEHV6nWB2yk8pyo0adR*.7kCMdnj").flatMap { .blurHash($0) })
            picture.setImage(with: url, placeholder: .url(small))
            picture.setImage(
                with: url,
                placeholder: .color(ImageColor(0x3584E4)),
                options: BindingOptions(whileLoading: .currentImage)
            )
            """
    ) { context in
        let titles = [tr("an icon"), tr("a colour"), tr("a hash"), tr("a small image"), tr("only for slow loads")]
        let pictures = titles.map { _ in sizedPicture(width: 180, height: 135) }
        let load = {
            for (number, picture) in pictures.enumerated() {
                show(
                    context.fresh("desert-dunes.jpg", .late),
                    in: picture,
                    number: number,
                    small: context.fresh("pixel-sunset.gif")
                )
            }
        }
        load()
        let again = button(icon: "view-refresh-symbolic", tr("Reload"), load)
        let cells = zip(pictures, titles).map { captioned($0.widget, $1) }
        return PageContent(
            box(GTK_ORIENTATION_VERTICAL, [controls([again]), flow(cells, columns: 4)]),
            waitsFor: pictures
        )
    }

    @MainActor
    private static func show(_ url: URL, in picture: Picture, number: Int, small: URL) {
        switch number {
        case 0:
            picture.setImage(with: url, placeholder: .icon("image-x-generic-symbolic", pixelSize: 48))
        case 1:
            picture.setImage(with: url, placeholder: .color(ImageColor(0x3584E4)))
        case 2:
            picture.setImage(with: url, placeholder: BlurHash("LEHV6nWB2yk8pyo0adR*.7kCMdnj").flatMap { .blurHash($0) })
        case 3:
            picture.setImage(with: url, placeholder: .url(small))
        default:
            picture.setImage(
                with: url,
                placeholder: .color(ImageColor(0x3584E4)),
                options: BindingOptions(whileLoading: .currentImage)
            )
        }
    }
}
