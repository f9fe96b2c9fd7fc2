internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

/// A GtkGridView of images. Its cells are recycled: scrolling binds each cell to one URL after the other.
@MainActor
final class ImageWall {
    /// The state of one cell.
    struct Cell {
        let picture: PicturePointer
        let url: URL
        let isMapped: Bool
    }

    let widget: Widget
    let urls: [URL]
    var onActivate: ((Int) -> Void)?
    private let gridView: OpaquePointer
    private let scrolled: OpaquePointer
    private let prefetcher: ListPrefetcher
    private let pictures: PictureSet
    /// What has become of the loads since the wall was made.
    let counts = LoadCounts()
    private let observation: ObservationToken
    private let healer: WallHealer

    init(urls: [URL]) {
        self.urls = urls
        let model = gtk_string_list_new(nil)!
        for url in urls { gtk_string_list_append(model, url.absoluteString) }
        let pictures = PictureSet()
        let grid = Self.makeGrid(model, urls: urls, pictures: pictures)
        self.pictures = pictures
        gridView = OpaquePointer(grid)
        prefetcher = Self.makePrefetcher(grid, urls)
        scrolled = OpaquePointer(gtk_scrolled_window_new())
        widget = cast(scrolled)
        observation = ImageManager.shared.observe { [counts] in counts.add($0.kind) }
        healer = WallHealer(pictures)
        setName(grid, tr("Images"))
        gtk_grid_view_set_min_columns(gridView, 2)
        gtk_grid_view_set_max_columns(gridView, 8)
        gtk_grid_view_set_single_click_activate(gridView, 1)
        gtk_scrolled_window_set_policy(scrolled, GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        gtk_scrolled_window_set_child(scrolled, cast(gridView))
        let adjustment = gtk_scrolled_window_get_vadjustment(scrolled)!
        connect(OpaquePointer(adjustment), "value-changed") { [healer] in healer.start() }
        connectActivate(gridView) { [weak self] position in self?.onActivate?(position) }
    }

    // All that an app writes for a list: a factory of cells, and a prefetcher for the rows that come next.

    private static func makeGrid(_ model: OpaquePointer, urls: [URL], pictures: PictureSet) -> Widget {
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
    }

    private static func makePrefetcher(_ grid: Widget, _ urls: [URL]) -> ListPrefetcher {
        ListPrefetcher(view: grid) { position in ImageRequest(url: urls[position]) }
    }
}

// The state that the tour and the tests inspect.
extension ImageWall {
    var cells: [Cell] {
        pictures.all.compactMap { picture in
            guard let url = picture.currentImageURL else { return nil }
            return Cell(picture: picture, url: url, isMapped: gtk_widget_get_mapped(picture.widget) != 0)
        }
    }

    var isAtRest: Bool {
        let visible = cells.filter(\.isMapped)
        return !visible.isEmpty && visible.allSatisfy { $0.picture.imageTask(for: .image)?.isFinished ?? false }
    }

    /// Scrolls down by nine tenths of a page.
    /// - Returns: Whether the end was not reached before.
    func scrollDown() -> Bool {
        let adjustment = gtk_scrolled_window_get_vadjustment(scrolled)
        let page = gtk_adjustment_get_page_size(adjustment)
        let value = gtk_adjustment_get_value(adjustment)
        guard value + page < gtk_adjustment_get_upper(adjustment) - 1 else { return false }
        gtk_adjustment_set_value(adjustment, value + page * 0.9)
        return true
    }
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
