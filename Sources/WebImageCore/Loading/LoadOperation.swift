/// A load under way, as the one who asked for it holds it.
public protocol LoadOperation: Sendable {
    /// Stops it; no event comes after the one that may be under way. Harmless when it has finished.
    func cancel()

    /// Changes how urgent it is.
    func setPriority(_ priority: ImagePriority)

    /// Asks for ``LoadEvent/data(_:)`` from now on; the first holds all that has come so far.
    func deliverData()

    /// Whether the rest will be here sooner than a new load would bring its first byte, so that a load that nobody
    /// waits for is better finished, for the cache, than cancelled. Default: no.
    var isWorthFinishing: Bool { get }
}

extension LoadOperation {
    /// No.
    public var isWorthFinishing: Bool { false }
}
