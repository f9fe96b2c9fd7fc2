internal import CWebImageAdwaita
internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

typealias Widget = UnsafeMutablePointer<GtkWidget>

// The building blocks of the pages. They do not belong to the library: an app uses its own GTK binding instead.

/// Creates a GtkBox with children.
@MainActor
func box(_ orientation: GtkOrientation, spacing: Int32 = 12, _ children: [Widget] = []) -> Widget {
    let box = gtk_box_new(orientation, spacing)!
    for child in children { append(child, to: box) }
    return box
}

@MainActor
func append(_ child: Widget, to box: Widget) {
    gtk_box_append(cast(OpaquePointer(box)), child)
}

/// All children of a widget, also hidden ones.
@MainActor
func childWidgets(of widget: Widget) -> [Widget] {
    var children: [Widget] = []
    var next = gtk_widget_get_first_child(widget)
    while let child = next {
        children.append(child)
        next = gtk_widget_get_next_sibling(child)
    }
    return children
}

@MainActor
func setMargins(of widget: Widget, _ margin: Int32) {
    for side in [
        gtk_widget_set_margin_top, gtk_widget_set_margin_bottom, gtk_widget_set_margin_start, gtk_widget_set_margin_end,
    ] { side(widget, margin) }
}

/// Creates a label that wraps.
@MainActor
func label(_ text: String, _ classes: String...) -> Widget {
    let label = gtk_label_new(text)!
    let native = OpaquePointer(label)
    gtk_label_set_wrap(native, 1)
    gtk_label_set_wrap_mode(native, PANGO_WRAP_WORD_CHAR)
    gtk_label_set_xalign(native, 0)
    for name in classes { gtk_widget_add_css_class(label, name) }
    return label
}

/// Creates a label for a number, which never wraps.
@MainActor
func valueLabel(_ text: String, _ classes: String...) -> Widget {
    let label = gtk_label_new(text)!
    gtk_label_set_xalign(OpaquePointer(label), 1)
    for name in classes + ["numeric"] { gtk_widget_add_css_class(label, name) }
    return label
}

@MainActor
func setText(_ label: Widget, _ text: String) {
    gtk_label_set_text(OpaquePointer(label), text)
}

/// Creates a bar that shows a share, from 0 to 1.
@MainActor
func levelBar(_ name: String) -> Widget {
    let bar = gtk_level_bar_new_for_interval(0, 1)!
    // The colours of a battery do not fit: more is not better.
    for offset in [GTK_LEVEL_BAR_OFFSET_LOW, GTK_LEVEL_BAR_OFFSET_HIGH, GTK_LEVEL_BAR_OFFSET_FULL] {
        gtk_level_bar_remove_offset_value(OpaquePointer(bar), offset)
    }
    setName(bar, name)
    return bar
}

/// Creates a button with a label.
@MainActor
func button(_ text: String, _ body: @escaping () -> Void) -> Widget {
    let button = gtk_button_new_with_label(text)!
    connect(OpaquePointer(button), "clicked", body)
    return button
}

/// Creates a button with an icon, and a text as its name and tooltip.
@MainActor
func button(icon: String, _ text: String, _ body: @escaping () -> Void) -> Widget {
    let button = gtk_button_new_from_icon_name(icon)!
    nameIcon(button, text)
    connect(OpaquePointer(button), "clicked", body)
    return button
}

/// Creates a drop-down list of texts.
@MainActor
func dropDown(_ texts: [String], _ body: @escaping (Int) -> Void) -> Widget {
    let model = gtk_string_list_new(nil)!
    for text in texts { gtk_string_list_append(model, text) }
    let dropDown = gtk_drop_down_new(model, nil)!
    connect(OpaquePointer(dropDown), "notify::selected") {
        body(Int(gtk_drop_down_get_selected(OpaquePointer(dropDown))))
    }
    return dropDown
}

/// Creates a check button with a label.
@MainActor
func checkButton(_ text: String, isOn: Bool = false, _ body: @escaping (Bool) -> Void) -> Widget {
    let button = gtk_check_button_new_with_label(text)!
    let native: UnsafeMutablePointer<GtkCheckButton> = cast(OpaquePointer(button))
    gtk_check_button_set_active(native, isOn ? 1 : 0)
    connect(OpaquePointer(button), "toggled") { body(gtk_check_button_get_active(native) != 0) }
    return button
}

/// Arranges widgets in columns of the same width, in rows that wrap.
@MainActor
func flow(_ children: [Widget], columns: Int = 6) -> Widget {
    let cells = children.map(fixed)
    for cell in cells {
        gtk_widget_set_halign(cell, GTK_ALIGN_START)
        gtk_widget_set_valign(cell, GTK_ALIGN_START)
    }
    return WrapLayout.widget(cells, columns: columns)
}

/// Fixes a widget to its size request. It would otherwise grow to the natural size of its image.
@MainActor
func fixed(_ widget: Widget) -> Widget {
    var (width, height) = (Int32(-1), Int32(-1))
    gtk_widget_get_size_request(widget, &width, &height)
    guard width > 0, height > 0 else { return widget }
    let room = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)!
    gtk_widget_set_size_request(room, width, height)
    let overlay = gtk_overlay_new()!
    gtk_overlay_set_child(OpaquePointer(overlay), room)
    gtk_overlay_add_overlay(OpaquePointer(overlay), widget)
    // A caption below may be wider.
    gtk_widget_set_halign(overlay, GTK_ALIGN_START)
    return overlay
}

/// Creates a `Picture` with a fixed size.
@MainActor
func sizedPicture(width: Int32 = 150, height: Int32 = 112, covers: Bool = true) -> Picture {
    let picture = Picture()
    gtk_widget_set_size_request(picture.widget, width, height)
    picture.contentFit = covers ? .cover : .contain
    // What is transparent, or fills only a part, stands on the background of the page.
    if covers { gtk_widget_add_css_class(picture.widget, "image-place") }
    return picture
}

/// Puts a caption below a widget.
@MainActor
func captioned(_ widget: Widget, _ text: String) -> Widget {
    let caption = label(text, "caption")
    gtk_label_set_max_width_chars(OpaquePointer(caption), 18)
    return box(GTK_ORIENTATION_VERTICAL, spacing: 6, [fixed(widget), caption])
}

/// Arranges controls in rows that wrap, each with its own size.
@MainActor
func controls(_ children: [Widget]) -> Widget {
    for child in children { gtk_widget_set_valign(child, GTK_ALIGN_CENTER) }
    return WrapLayout.widget(children)
}

extension GtkWidgetConvertible {
    var widget: Widget { nativeWidgetPointer.assumingMemoryBound(to: GtkWidget.self) }
}

extension ImageBindable {
    /// Whether the last image is in place or has failed.
    @MainActor var isAtRest: Bool { imageBinding.task?.isFinished ?? true }
}
