/// How a transfer went: where the time was spent, and what was moved. Times count from the start of the last request,
/// in the order in which they are reached; a step that was skipped has the time of the one before it.
public struct TransferMetrics: Sendable, Hashable {
    /// What became of the copy that was at hand, if there was one.
    public enum CacheDecision: Sendable, Hashable {
        /// There was none: the whole body was sent.
        case fetched
        /// There was one, and the server sent a new one all the same.
        case replaced
        /// The server says that the copy is still good.
        case notModified
        /// So many bytes were at hand from a transfer that was broken off; the server sent the rest.
        case resumed(Int64)
    }

    /// Time in the queue before the first request.
    public var waiting: Duration = .zero
    /// Until the name of the host was resolved.
    public var nameLookup: Duration = .zero
    /// Until the connection was there.
    public var connect: Duration = .zero
    /// Until TLS was agreed on.
    public var secureConnect: Duration = .zero
    /// Until the first byte of the response.
    public var firstByte: Duration = .zero
    /// Until the last byte.
    public var total: Duration = .zero
    /// Bytes of the body, as they came over the network.
    public var receivedByteCount: Int64 = 0
    /// HTTP/1.1, HTTP/2 ...
    public var protocolName = ""
    /// Whether a connection that was open already was used.
    public var isReusedConnection = false
    /// Redirects that were followed.
    public var redirectCount = 0
    /// What became of a copy at hand.
    public var cacheDecision = CacheDecision.fetched

    /// Makes metrics of zeros.
    public init() {}
}
