internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let progressive = Page(
        id: "progressive",
        title: tr("Progressive loading"),
        summary: tr(
            "The same file over the same slow connection. The left image appears as it arrives, the right one only when it is complete."
        ),
        code: """
            picture.imageIndicator = .progress
            picture.setImage(with: ImageRequest(url: url, loading: .progressive, decodeSize: .original))
            """
    ) { context in
        let names = ["rocket.jpg", "cactus.png", "mushroom.webp", "truchet-tiles.gif"]
        let left = Picture()
        let right = Picture()
        for picture in [left, right] {
            gtk_widget_set_size_request(picture.widget, 300, 220)
            picture.imageIndicator = .progress
        }
        var name = names[0]
        let load = {
            show(left, context.fresh(name, .drip))
            right.setImage(with: ImageRequest(url: context.fresh(name, .drip), decodeSize: .original))
        }
        let choice = dropDown(["JPEG", "PNG", "WebP", "GIF"]) { number in
            name = names[number]
            load()
        }
        setName(choice, tr("Format"))
        let again = button(icon: "view-refresh-symbolic", tr("Reload"), load)
        load()
        let pictures = flow(
            [captioned(left.widget, tr("progressive")), captioned(right.widget, tr("complete"))],
            columns: 2
        )
        return PageContent(
            box(GTK_ORIENTATION_VERTICAL, [controls([choice, again]), pictures]),
            waitsFor: [left, right]
        )
    }

    @MainActor
    private static func show(_ picture: Picture, _ url: URL) {
        picture.imageIndicator = .progress
        picture.setImage(with: ImageRequest(url: url, loading: .progressive, decodeSize: .original))
    }
}
