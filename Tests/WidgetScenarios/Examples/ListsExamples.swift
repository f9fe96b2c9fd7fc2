internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

// The samples of Lists.md, compiled. What they do not declare is a parameter here.

@MainActor
private func ofBinding() {
    let factory = ImageListFactory(items: PhotoItem.init(raw:), width: 160, height: 120) { photo in photo.url }
    _ = factory
}

/// A class of a binding.
private struct PhotoItem {
    let raw: UnsafeMutableRawPointer
    var url: URL? { nil }
}

@MainActor
private func byExpression(expression: OpaquePointer) {
    let factory = ImageListFactory(items: { $0 }, width: 160, height: 120) { item -> URL? in
        var value = GValue()
        guard gtk_expression_evaluate(expression, item, &value) != 0 else { return nil }
        defer { g_value_unset(&value) }
        return g_value_get_string(&value).flatMap { URL(string: String(cString: $0)) }
    }
    _ = factory
}

@MainActor
private func byPosition(urls: [URL], grey: ImageColor) {
    let rounded = ImageListFactory(
        width: 160,
        height: 120,
        placeholder: .color(grey),
        configure: { picture in
            gtk_widget_add_css_class(picture.native(), "rounded")
            gtk_widget_set_overflow(picture.native(), GTK_OVERFLOW_HIDDEN)
            picture.imageTransition = .crossfade()
        },
        request: { position in ImageRequest(url: urls[position], cachePolicy: .cachedElseLoad) }
    )
    _ = rounded
}

/// ListScenarios runs it.
@MainActor
func wholeList(urls: [URL], window: UnsafeMutablePointer<GtkWindow>) {
    let model = gtk_string_list_new(nil)
    for url in urls { gtk_string_list_append(model, url.absoluteString) }
    let selection = gtk_no_selection_new(model)
    let factory = ImageListFactory(items: OpaquePointer.init, width: 160, height: 120) { item in
        URL(string: String(cString: gtk_string_object_get_string(item)))
    }
    let view = gtk_grid_view_new(selection, nil)
    gtk_grid_view_set_factory(OpaquePointer(view), factory.nativeFactory)
    let scrolled = gtk_scrolled_window_new()
    gtk_scrolled_window_set_child(OpaquePointer(scrolled), view)
    gtk_window_set_child(window, scrolled)
}

@MainActor
private func fullTransfer(selection: OpaquePointer, factory: ImageListFactory) {
    let grid = gtk_grid_view_new(selection, OpaquePointer(g_object_ref(.init(factory.nativeFactory))!))
    _ = grid
}

@MainActor
func setUp(_ item: OpaquePointer) {
    let row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12)!
    let avatar = WidgetPointer(gtk_picture_new())
    avatar.imageBinding.setFixedSize(width: 48, height: 48)
    gtk_box_append(WidgetPointer(row).native(), avatar.native())
    gtk_box_append(WidgetPointer(row).native(), gtk_label_new(nil))
    gtk_list_item_set_child(item, row)
}

@MainActor
func bind(_ item: OpaquePointer, name: String, url: URL) {
    let avatar = gtk_widget_get_first_child(gtk_list_item_get_child(item))!
    gtk_label_set_text(OpaquePointer(gtk_widget_get_next_sibling(avatar)), name)
    WidgetPointer(avatar).setImage(with: url, placeholder: .icon("avatar-default-symbolic"))
}

@MainActor
func unbind(_ item: OpaquePointer) {
    WidgetPointer(gtk_widget_get_first_child(gtk_list_item_get_child(item))).cancelImageLoad()
}

@MainActor
private func ahead(grid: OpaquePointer) {
    let prefetcher = ListPrefetcher(view: WidgetPointer(grid), items: PhotoItem.init(raw:)) { photo in photo.url }
    prefetcher.screensAhead = 2
}

@MainActor
private func listBox(urls: [URL], listBox: OpaquePointer) {
    let rows = LazyRowBinder(container: WidgetPointer(listBox)) { row, index in
        row.setImage(with: urls[index])
    } unbind: { row, _ in
        row.clearImage()
    }
    _ = rows
}

private func byHand(urls: [URL], later: [URL]) {
    ImagePrefetcher.shared.prefetch(urls)
    ImagePrefetcher.shared.prefetch(later, to: .disk) { result in
        print(result.loadedCount, result.failedCount, result.cancelledCount)
    }
}

private func moreUrgent(urls: [URL]) {
    let batch = ImagePrefetcher.shared.prefetch(urls)
    batch.priority = .high
}
