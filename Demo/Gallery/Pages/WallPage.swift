internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

extension Page {
    static let wall = Page(
        id: "wall",
        title: tr("Wall"),
        summary: tr(
            "Thousands of cells, recycled while scrolling. Loads of cells that leave the screen are cancelled, and visible cells load first."
        ),
        code: """
            PicturePointer(picture).setImage(with: url, placeholder: .icon("image-x-generic-symbolic"))
            PicturePointer(picture).cancelCurrentImageLoad()
            """,
        isFilling: true,
        parts: ["ImageWall.swift"]
    ) { context in
        let wall = ImageWall(urls: context.source.urls)
        let counters = LoadCounters()
        gtk_widget_set_vexpand(wall.widget, 1)
        var content = PageContent(
            box(GTK_ORIENTATION_VERTICAL, spacing: 0, [wall.widget, counters.widget]),
            owner: WallOwner(wall: wall, counters: counters)
        )
        content.isAtRest = { wall.isAtRest }
        return content
    }
}

/// Keeps the parts of the page alive.
@MainActor
final class WallOwner {
    let wall: ImageWall
    private let counters: LoadCounters

    init(wall: ImageWall, counters: LoadCounters) {
        self.wall = wall
        self.counters = counters
    }
}
