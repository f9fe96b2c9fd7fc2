// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import CGtk4

// What apps see of four GTK bindings: nothing is isolated, and closures are plain.

/// As in rhx/SwiftGtk.
open class PictureRef {
    public let ptr: UnsafeMutableRawPointer!
    public init() { ptr = g_object_ref_sink(gtk_picture_new()) }
    deinit { g_object_unref(ptr) }
}

/// As in swift-cross-ui.
public enum Gtk {
    open class Widget {
        public let gobjectPointer: UnsafeMutablePointer<GObject>
        init(_ widget: UnsafeMutablePointer<GtkWidget>) {
            gobjectPointer = g_object_ref_sink(widget)!.assumingMemoryBound(to: GObject.self)
        }
        deinit { g_object_unref(gobjectPointer) }

        public var widget: UnsafeMutablePointer<GtkWidget> {
            UnsafeMutableRawPointer(gobjectPointer).assumingMemoryBound(to: GtkWidget.self)
        }
    }

    open class Picture: Widget { public init() { super.init(gtk_picture_new()) } }

    open class Button: Widget {
        public var clicked: ((Button) -> Void)?
        public init() { super.init(gtk_button_new()) }
    }

    open class Box: Widget {
        public init() { super.init(gtk_box_new(GTK_ORIENTATION_VERTICAL, 6)) }
        public func add(_ child: UnsafeMutableRawPointer) {
            let child = child.assumingMemoryBound(to: GtkWidget.self)
            gtk_widget_set_size_request(child, 60, 40)
            gtk_box_append(UnsafeMutableRawPointer(widget).assumingMemoryBound(to: GtkBox.self), child)
        }
    }

    open class Window: Widget {
        public init() { super.init(gtk_window_new()) }
        public func setChild(_ child: Widget) {
            gtk_window_set_child(UnsafeMutableRawPointer(widget).assumingMemoryBound(to: GtkWindow.self), child.widget)
        }
    }

    open class Application {
        public var isRunning = true
        public init() {}
        /// Runs until `isRunning` is false.
        public func run(_ body: (Window) -> Void) {
            guard gtk_init_check() != 0 else { fatalError("GTK finds no display") }
            let window = Window()
            body(window)
            gtk_window_present(UnsafeMutableRawPointer(window.widget).assumingMemoryBound(to: GtkWindow.self))
            while isRunning { g_main_context_iteration(nil, 1) }
        }
    }
}

/// As in Adwaita for Swift, where a view is a value and its widget is reached through inspect.
public enum AdwaitaForSwift {
    public final class ViewStorage {
        public let opaquePointer: OpaquePointer?
        init() { opaquePointer = OpaquePointer(g_object_ref_sink(gtk_picture_new())) }
        deinit { g_object_unref(UnsafeMutableRawPointer(opaquePointer)) }
    }

    public struct Picture {
        private let storage = ViewStorage()
        public init() {}
        public func inspect(_ body: (ViewStorage, Bool) -> Void) { body(storage, true) }
    }
}

/// As in makoni/swift-adwaita.
public enum Adwaita {
    @MainActor
    open class Picture {
        nonisolated(unsafe) public let pointer: UnsafeMutableRawPointer
        public init() { pointer = g_object_ref_sink(gtk_picture_new()) }
        deinit { g_object_unref(pointer) }
    }
}
