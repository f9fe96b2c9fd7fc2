public import FoundationEssentials

/// Gets the bytes of a URL: over the network, from a file, or from wherever an app keeps them. From any thread.
public protocol ImageLoading: Sendable {
    /// Whether it loads `url`; the newest loader that says yes is used.
    func canLoad(_ url: URL) -> Bool

    /// Whether bytes from `url` are worth a copy in the disk cache. Default: yes.
    func isWorthCaching(_ url: URL) -> Bool

    /// Whether `url` can only be had while the machine is online; then a load that is sure to fail is not tried.
    /// Default: no.
    func needsNetwork(_ url: URL) -> Bool

    /// The header fields that a load would send, for responses that vary with them (RFC 9110, 12.5.5). Default: those
    /// of the request's options.
    func headers(for request: LoadRequest) -> [String: String]

    /// Starts to load.
    /// - Parameters:
    ///   - request: What to load.
    ///   - onEvent: Called on a thread of the loader's, one event at a time, ending with ``LoadEvent/finished(_:)``
    ///     exactly once, unless the load is cancelled. Must not block.
    /// - Returns: A handle on the load. It may have finished already.
    func load(_ request: LoadRequest, onEvent: @escaping @Sendable (LoadEvent) -> Void) -> any LoadOperation
}

extension ImageLoading {
    /// Yes.
    public func isWorthCaching(_ url: URL) -> Bool { true }

    /// No.
    public func needsNetwork(_ url: URL) -> Bool { false }

    /// Those of the request's options.
    public func headers(for request: LoadRequest) -> [String: String] { request.options.headers }
}

extension ImageLoading {
    /// Tells loaders apart: objects by themselves, values by their type.
    var identity: ObjectIdentifier {
        type(of: self) is AnyClass ? ObjectIdentifier(self as AnyObject) : ObjectIdentifier(type(of: self))
    }
}
