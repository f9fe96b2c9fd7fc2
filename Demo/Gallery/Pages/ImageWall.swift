internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

/// A GtkGridView of images. Its cells are recycled: scrolling binds each cell to one URL after the other.
@MainActor
final class ImageWall {
    /// The state of one cell.
    struct Cell {
        let picture: WidgetPointer
        let url: URL
        let isMapped: Bool
    }

    let grid: WallGrid
    let urls: [URL]
    var onActivate: ((Int) -> Void)?
    private let prefetcher: ListPrefetcher
    private let pictures: PictureSet
    private let items = CellItems()
    /// What has become of the loads since the wall was made.
    let counts = LoadCounts()
    private let observation: ObservationToken
    private let healer: WallHealer

    /// - Parameters:
    ///   - urls: The items of the list.
    ///   - requested: What the cells load. Default: the URLs of their items. A test has others, which must be noticed.
    init(urls: [URL], requested: [URL]? = nil) {
        self.urls = urls
        let pictures = PictureSet()
        let requested = requested ?? urls
        // All that an app writes for a list: a factory of cells, and a prefetcher for the rows that come next
        let factory = ImageListFactory(
            width: 160,
            height: 120,
            imageDescription: { requested[$0].imageTitle },
            configure: { picture in
                picture.imageIndicator = .tint
                picture.errorPlaceholder = .icon("image-missing-symbolic")
                pictures.insert(picture)
                gtk_widget_add_css_class(picture.widget, "image-place")
            },
            request: { position in ImageRequest(url: requested[position]) }
        )
        items.follow(factory.nativeFactory)
        let view = gtk_grid_view_new(gtk_no_selection_new(WallGrid.model(of: urls)), nil)!
        gtk_grid_view_set_factory(OpaquePointer(view), factory.nativeFactory)
        self.pictures = pictures
        grid = WallGrid(view)
        prefetcher = ListPrefetcher(view: WidgetPointer(view)) { position in
            ImageRequest(url: urls[position])
        }
        observation = ImageManager.shared.observe { [counts] in counts.add($0.kind) }
        healer = WallHealer(pictures)
        gtk_grid_view_set_single_click_activate(grid.view, 1)
        grid.onScroll { [healer] in healer.start() }
        connectActivate(grid.view) { [weak self] position in self?.onActivate?(position) }
    }

    /// What a cell shows of an image, at the size of the cell.
    func thumbnail(at number: Int) -> WebImage? {
        cells.first { $0.url == urls[number] }?.picture.currentImage
    }

    /// Scrolls to a cell and moves the focus there.
    func focus(at number: Int) {
        // The action makes the cell, whose parent takes the focus. gtk_grid_view_scroll_to is there since GTK 4.12.
        // It sinks no floating variant.
        let position = g_variant_ref_sink(g_variant_new_uint32(guint32(number)))
        defer { g_variant_unref(position) }
        gtk_widget_activate_action_variant(cast(grid.view), "list.scroll-to-item", position)
        let cell = cells.first { $0.url == urls[number] }
        if let item = cell.flatMap({ gtk_widget_get_parent($0.picture.widget) }) { gtk_widget_grab_focus(item) }
    }
}

// The state that the tour and the tests inspect.
extension ImageWall {
    var cells: [Cell] {
        pictures.all.compactMap { picture in
            guard let url = picture.imageBinding.request?.url else { return nil }
            return Cell(picture: picture, url: url, isMapped: gtk_widget_get_mapped(picture.widget) != 0)
        }
    }

    var isAtRest: Bool {
        let visible = cells.filter(\.isMapped)
        return !visible.isEmpty && visible.allSatisfy { $0.picture.images.task(for: .image)?.isFinished ?? false }
    }

    /// The URL of the item whose cell a widget is in, by the list's own model.
    func itemURL(in picture: WidgetPointer) -> URL? { items.url(in: picture.widget) }

    /// The widgets of the cells that are in view, even by a row of pixels.
    var picturesInView: [WidgetPointer] { pictures.all.filter { grid.shows($0.widget) } }
}

/// A quiet tint for cells whose images take longer than a tenth of a second.
private struct TintIndicator: ImageIndicating {
    var isAnimated: Bool { false }

    func draw(on canvas: IndicatorCanvas, fraction: Double?, time: Double) {
        // The round ends of the bar are outside.
        let (width, height) = (canvas.width, canvas.height)
        canvas.bar(x: -height, y: 0, width: width + 2 * height, height: height, opacity: 0.08)
    }
}

extension ImageIndicator {
    @MainActor fileprivate static let tint = ImageIndicator(TintIndicator(), delay: .milliseconds(100))
}

extension URL {
    /// What the image is called: the name of its file in words.
    var imageTitle: String {
        deletingPathExtension().lastPathComponent.replacing("-", with: " ").replacing("_", with: " ")
    }
}
