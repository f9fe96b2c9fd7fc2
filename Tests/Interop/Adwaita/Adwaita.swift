// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import CGtk4

// The declarations of Adwaita for Swift, and of its package Meta, that a view of an image uses.

public typealias Body = [AnyView]

public protocol AnyView {
    var viewContent: Body { get }
}

public protocol SimpleView: AnyView {
    @ViewBuilder var view: Body { get }
}

extension SimpleView {
    public var viewContent: Body { view }
}

@resultBuilder
public enum ViewBuilder {
    public static func buildBlock(_ views: AnyView...) -> Body { views }
}

public class ViewStorage {
    public let opaquePointer: OpaquePointer?
    init(_ pointer: UnsafeMutableRawPointer) { opaquePointer = OpaquePointer(g_object_ref_sink(pointer)) }
    deinit { g_object_unref(UnsafeMutableRawPointer(opaquePointer)) }
}

public struct Picture: AnyView {
    public var viewContent: Body { [] }
    public init() {}
}

extension AnyView {
    public func inspect(_ modify: @escaping (ViewStorage, Bool) -> Void) -> AnyView {
        InspectorWrapper(modify: modify, content: self)
    }

    /// Makes the widget of the view and updates it, as a window does.
    public func storage() -> ViewStorage? {
        if let inspector = self as? InspectorWrapper {
            let storage = inspector.content.storage()
            if let storage { for _ in 0..<2 { inspector.modify(storage, true) } }
            return storage
        }
        return self is Picture ? ViewStorage(gtk_picture_new()) : viewContent.first?.storage()
    }
}

struct InspectorWrapper: AnyView {
    var modify: (ViewStorage, Bool) -> Void
    var content: AnyView
    var viewContent: Body { [content] }
}
