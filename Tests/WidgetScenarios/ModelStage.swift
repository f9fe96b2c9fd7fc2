internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import WebImageLinux
import WebImageTesting

/// A list of images in a GtkMultiSelection of a sorted and filtered GtkStringList. Each item is a URL, whose path begins
/// with the color of its image: the number of the item.
@MainActor
final class ModelStage {
    let list: ListStage
    var stage: Stage { list.stage }
    /// All items, in the order of their numbers.
    let strings = gtk_string_list_new(nil)!
    let sorted: OpaquePointer
    let selection: OpaquePointer
    private let order: Order
    private let filter: UnsafeMutablePointer<GtkFilter>
    private let sorter: UnsafeMutablePointer<GtkSorter>
    private let bound = Bound()

    /// The `GtkListItem *` of each bound cell, by its image.
    private final class Bound {
        var items: [UnsafeMutableRawPointer: OpaquePointer] = [:]
    }

    /// An item as the class of a binding, which owns a reference.
    private final class Item {
        private let pointer: UnsafeMutableRawPointer
        var text: String { ModelStage.text(OpaquePointer(pointer)) }

        init(raw: UnsafeMutableRawPointer) { pointer = g_object_ref(raw)! }

        deinit { g_object_unref(pointer) }
    }

    /// What the filter and the sorter do, on the main thread.
    private final class Order {
        var divisor = 1
        var isReversed = false
    }

    /// - Parameter gate: Holds the answers of the server.
    init(count: Int, heldBy gate: ServerGate = ServerGate(isOpen: true), isGrid: Bool = false) throws {
        let stage = try Stage(heldBy: gate)
        let order = Order()
        let context = Unmanaged.passUnretained(order).toOpaque()
        let keeps: GtkCustomFilterFunc = { item, context in
            let order = Unmanaged<Order>.fromOpaque(context!).takeUnretainedValue()
            return ModelStage.number(UnsafeRawPointer(item!)).isMultiple(of: order.divisor) ? 1 : 0
        }
        let compares: GCompareDataFunc = { first, second, context in
            let order = Unmanaged<Order>.fromOpaque(context!).takeUnretainedValue()
            let distance = ModelStage.number(first!) - ModelStage.number(second!)
            return gint((order.isReversed ? -distance : distance).signum())
        }
        filter = UnsafeMutableRawPointer(gtk_custom_filter_new(keeps, context, nil)).assumingMemoryBound(
            to: GtkFilter.self
        )
        sorter = UnsafeMutableRawPointer(gtk_custom_sorter_new(compares, context, nil))
            .assumingMemoryBound(to: GtkSorter.self)
        let urls = (0..<count).map { stage.url(UInt32($0), "120x90") }
        for url in urls { gtk_string_list_append(strings, url.absoluteString) }
        sorted = gtk_sort_list_model_new(gtk_filter_list_model_new(strings, filter), sorter)
        selection = gtk_multi_selection_new(sorted)
        self.order = order
        let factory = ImageListFactory(
            items: Item.init(raw:),
            width: 120,
            height: 90,
            manager: stage.manager,
            imageDescription: { $0.text },
            request: { URL(string: $0.text) }
        )
        let native = UnsafeMutableRawPointer(factory.nativeFactory)
        native.connectWithArgument("bind") { [bound] item in
            guard let item = OpaquePointer(bitPattern: item), let child = gtk_list_item_get_child(item) else { return }
            bound.items[UnsafeMutableRawPointer(child)] = item
        }
        native.connectWithArgument("unbind") { [bound] item in
            guard let child = gtk_list_item_get_child(OpaquePointer(bitPattern: item)) else { return }
            bound.items[UnsafeMutableRawPointer(child)] = nil
        }
        // GTK binds the first cells at once.
        list = ListStage(stage, urls, model: selection, factory, isGrid: isGrid)
    }

    /// The URL of an item.
    nonisolated static func text(_ item: OpaquePointer) -> String {
        String(cString: gtk_string_object_get_string(item))
    }

    nonisolated static func number(_ item: UnsafeRawPointer) -> Int { number(of: text(OpaquePointer(item))) }

    /// The color at the begin of the path of a URL.
    nonisolated static func number(of text: String) -> Int {
        (URL(string: text)?.path.split(separator: "/").first).flatMap { Int($0, radix: 16) } ?? -1
    }

    /// Lists only the items whose numbers are multiples of this one.
    func filter(by divisor: Int) {
        order.divisor = divisor
        gtk_filter_changed(filter, GTK_FILTER_CHANGE_DIFFERENT)
    }

    func reverse() {
        order.isReversed.toggle()
        gtk_sorter_changed(sorter, GTK_SORTER_CHANGE_INVERTED)
    }

    /// Removes the first items.
    func remove(_ count: Int) { gtk_string_list_splice(strings, 0, guint(count), nil) }

    /// Inserts an item, or replaces the one at its position.
    func insert(_ number: Int, at position: Int = 0, size: String = "120x90", replaces: Bool = false) {
        let text = stage.url(UInt32(number), size).absoluteString
        text.withCString { text in
            var texts = [text, nil]
            gtk_string_list_splice(strings, guint(position), replaces ? 1 : 0, &texts)
        }
    }

    /// A prefetcher by items, which are at the size of the cells.
    func makePrefetcher() -> ListPrefetcher {
        ListPrefetcher(
            view: list.view,
            items: OpaquePointer.init,
            prefetcher: ImagePrefetcher(manager: stage.manager)
        ) { Self.request(Self.text($0)) }
    }

    static func request(_ text: String) -> ImageRequest? {
        URL(string: text).map { ImageRequest(url: $0, decodeSize: .cover(PixelSize(width: 120, height: 90))) }
    }

    /// The URLs of the items at positions of the list.
    func texts(_ positions: Range<Int>) -> [String] {
        positions.compactMap { position in
            guard let item = g_list_model_get_item(selection, guint(position)) else { return nil }
            defer { g_object_unref(item) }
            return Self.text(OpaquePointer(item))
        }
    }

    func isInMemory(_ text: String) -> Bool {
        Self.request(text).map { stage.manager.cachedImage(for: $0) != nil } ?? false
    }

    /// The cells on screen, and the URLs of their items, as GTK tells them now.
    var cells: [(picture: WidgetPointer, text: String)] {
        bound.items.compactMap { child, item in
            guard gtk_widget_get_mapped(child.assumingMemoryBound(to: GtkWidget.self)) != 0 else { return nil }
            return gtk_list_item_get_item(item).map { (WidgetPointer(child), Self.text(OpaquePointer($0))) }
        }
    }

    /// Whether every cell on screen shows its image.
    var isAtRest: Bool {
        let cells = cells
        return !cells.isEmpty && cells.allSatisfy { $0.picture.currentImage.map { !$0.isPartial } ?? false }
    }

    /// Expects that every cell on screen loads or shows the image of its item.
    func expectNoWrongImage(file: StaticString = #fileID, line: UInt = #line) {
        for (picture, text) in cells {
            expectEqual(picture.imageBinding.request?.url.absoluteString, text, file: file, line: line)
            guard let image = picture.currentImage else { continue }
            expectEqual(Int(image.color), Self.number(of: text), text, file: file, line: line)
        }
    }

    /// Scrolls to the middle, and a little more: a list in GTK 4.8 may stay empty after a jump until it is scrolled again.
    func scrollToMiddle() {
        list.scroll(to: 0.5)
        stage.waitForFrame()
        gtk_adjustment_set_value(list.adjustment, gtk_adjustment_get_value(list.adjustment) + 30)
        stage.waitForFrame()
    }
}
