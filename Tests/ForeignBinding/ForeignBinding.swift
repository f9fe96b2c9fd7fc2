// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Classes with the names that GTK bindings and HTTP libraries use, for scenarios that import them beside GtkWebImage:
// a name that the library took from an app would make those scenarios ambiguous, and they would not compile.
internal import CWebImageGtk4

/// A class of a GTK binding, which owns a reference to its widget.
@MainActor
open class Widget {
    nonisolated(unsafe) public let pointer: UnsafeMutableRawPointer

    init(_ widget: UnsafeMutablePointer<GtkWidget>) {
        pointer = g_object_ref_sink(widget)!
    }

    deinit {
        g_object_unref(pointer)
    }
}

public final class Picture: Widget { public init() { super.init(gtk_picture_new()) } }
public final class Image: Widget { public init() { super.init(gtk_image_new()) } }
public final class Button: Widget { public init() { super.init(gtk_button_new()) } }
public final class CheckButton: Widget { public init() { super.init(gtk_check_button_new()) } }
public final class ToggleButton: Widget { public init() { super.init(gtk_toggle_button_new()) } }
public final class MenuButton: Widget { public init() { super.init(gtk_menu_button_new()) } }
public final class Entry: Widget { public init() { super.init(gtk_entry_new()) } }
public final class Label: Widget { public init() { super.init(gtk_label_new(nil)) } }
public final class Box: Widget { public init() { super.init(gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0)) } }
public final class Window: Widget { public init() { super.init(gtk_window_new()) } }

public struct HTTPRequest { public init() {} }
public struct HTTPResponse { public init() {} }
public struct Request { public init() {} }
public struct Response { public init() {} }
public struct Configuration { public init() {} }
public struct Credential { public init() {} }
public struct RateLimit { public init() {} }
public struct Proxy { public init() {} }
public struct Observation { public init() {} }
public enum Orientation { case horizontal, vertical }
public enum Edge { case leading, trailing }
public enum ContentMode { case fit, fill }
