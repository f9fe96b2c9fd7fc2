internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageBuilder
import WebImageLinux
import WebImageTesting

/// A list of many images in a scrolled window. Each image has its own colour.
@MainActor
final class ListStage {
    let stage: Stage
    let scrolled: UnsafeMutablePointer<GtkWidget>
    let list: UnsafeMutablePointer<GtkWidget>
    var view: WidgetPointer { WidgetPointer(list) }
    let urls: [URL]
    private let model: OpaquePointer

    /// - Parameter imageSize: The size of the files. Default: that of the cells.
    convenience init(
        count: Int,
        width: Int = 120,
        height: Int = 90,
        imageSize: String? = nil,
        isGrid: Bool = false,
        placeholder: ImagePlaceholder? = nil
    ) throws {
        let stage = try Stage()
        let urls = (0..<count).map { stage.url(Self.color($0), imageSize ?? "\(width)x\(height)") }
        let factory = ImageListFactory(
            width: width,
            height: height,
            placeholder: placeholder,
            manager: stage.manager,
            imageDescription: { $0 % 2 == 0 ? "Image \($0)" : nil },
            request: { urls[$0] }
        )
        let strings = gtk_string_list_new(nil)!
        for index in 0..<count { gtk_string_list_append(strings, "\(index)") }
        self.init(stage, urls, model: gtk_no_selection_new(strings), factory, isGrid: isGrid)
    }

    /// - Parameter model: The GtkSelectionModel, which the list takes over.
    init(_ stage: Stage, _ urls: [URL], model: OpaquePointer, _ factory: ImageListFactory, isGrid: Bool) {
        self.stage = stage
        self.urls = urls
        self.model = model
        let native = OpaquePointer(g_object_ref(.init(factory.nativeFactory))!)
        list = isGrid ? gtk_grid_view_new(model, native) : gtk_list_view_new(model, native)
        scrolled = gtk_scrolled_window_new()
        gtk_scrolled_window_set_child(scrolled.opaque, list)
        gtk_widget_set_vexpand(scrolled, 1)
        stage.append(scrolled)
    }

    /// Makes a list from a file of GtkBuilder with the objects `scrolled`, `list`, `model` and `strings`, whose strings are the URLs.
    init(file: String, count: Int) throws {
        WebPicture.register()
        let stage = try Stage()
        self.stage = stage
        urls = (0..<count).map { stage.url(Self.color($0), "120x90") }
        let builder = try BuilderStage.load(file)
        let object = { (name: String) in try require(gtk_builder_get_object(builder, name), name) }
        let strings = try object("strings").opaque
        for url in urls { gtk_string_list_append(strings, url.absoluteString) }
        model = try object("model").opaque
        list = try object("list").as(GtkWidget.self)
        scrolled = try object("scrolled").as(GtkWidget.self)
        stage.append(scrolled)
        g_object_unref(UnsafeMutableRawPointer(builder))
    }

    /// The colour of a row, which no other row has.
    static func color(_ index: Int) -> UInt32 { UInt32(truncatingIfNeeded: index &* 40_503 &+ 1) & 0xFFFFFF }

    var adjustment: UnsafeMutablePointer<GtkAdjustment> { gtk_scrolled_window_get_vadjustment(scrolled.opaque) }

    func scroll(to share: Double) {
        let adjustment = adjustment
        let way = gtk_adjustment_get_upper(adjustment) - gtk_adjustment_get_page_size(adjustment)
        gtk_adjustment_set_value(adjustment, way * share)
    }

    /// Removes all items after the first ones.
    func shrink(to count: Int) {
        let strings = gtk_no_selection_get_model(model)
        gtk_string_list_splice(strings, UInt32(count), UInt32(urls.count - count), nil)
    }

    /// The images of the rows that are on screen.
    var mapped: [WidgetPointer] {
        var result: [WidgetPointer] = []
        var row = gtk_widget_get_first_child(list)
        while let current = row {
            if gtk_widget_get_mapped(current) != 0, let picture = gtk_widget_get_first_child(current) {
                result.append(WidgetPointer(picture))
            }
            row = gtk_widget_get_next_sibling(current)
        }
        return result
    }

    /// Whether every row on screen shows its image.
    var isAtRest: Bool {
        let mapped = mapped
        return !mapped.isEmpty && mapped.allSatisfy { $0.currentImage.map { !$0.isPartial } ?? false }
    }

    /// Expects that every row on screen shows its own image.
    func expectNoWrongImage() {
        for picture in mapped {
            guard let url = picture.imageBinding.request?.url, let image = picture.currentImage else { continue }
            let digits = url.path.split(separator: "/").first.flatMap { UInt32($0, radix: 16) }
            expectEqual(image.color, digits ?? 0, "\(url.path)")
        }
    }
}

/// The resident memory of this process in bytes.
func residentMemory() -> Int {
    let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
    return (pages.flatMap { $0.count > 1 ? Int($0[1]) : nil } ?? 0) * 4096
}
