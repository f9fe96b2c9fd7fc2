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
            let factory = ImageListFactory(
                width: 160,
                height: 120,
                imageDescription: { urls[$0].imageTitle },
                configure: { picture in
                    picture.imageIndicator = .tint
                    picture.errorPlaceholder = .icon("image-missing-symbolic")
                    pictures.insert(picture)
                },
                request: { position in ImageRequest(url: urls[position]) }
            )
            return gtk_grid_view_new(gtk_no_selection_new(model), OpaquePointer(factory.nativeFactoryPointer))

            ListPrefetcher(view: grid) { position in ImageRequest(url: urls[position]) }
            """,
        isFilling: true,
        parts: ["ImageWall.swift", "LargeView.swift"]
    ) { context in
        let wall = ImageWall(urls: context.source.urls)
        let counters = LoadCounters(wall.counts)
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
