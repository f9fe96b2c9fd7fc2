// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import CGtk4

// The classes of SwiftCrossUI's module Gtk that a view of an image uses.

open class GObject {
    public let gobjectPointer: UnsafeMutablePointer<CGtk4.GObject>

    init(_ pointer: UnsafeMutableRawPointer) {
        gobjectPointer = g_object_ref_sink(pointer)!.assumingMemoryBound(to: CGtk4.GObject.self)
    }

    deinit { g_object_unref(gobjectPointer) }
}

@MainActor
open class Widget: GObject {}

open class Picture: Widget {
    public init() { super.init(gtk_picture_new()) }
}
