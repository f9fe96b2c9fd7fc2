// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The declarations of SwiftCrossUI that a representable of GtkBackend uses.

@MainActor
public protocol View {
    associatedtype Content
    var body: Content { get }
}

public struct EnvironmentValues {
    public init() {}
}

public struct ProposedViewSize: Hashable, Sendable {
    public var width: Double?
    public var height: Double?
    public init(_ width: Double?, _ height: Double?) {
        self.width = width
        self.height = height
    }
}

public struct ViewSize: Hashable, Sendable {
    public var width: Double
    public var height: Double
    public init(_ width: Double, _ height: Double) {
        self.width = width
        self.height = height
    }
}
