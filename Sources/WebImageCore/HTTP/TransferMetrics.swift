/// The times and sizes of a transfer.
///
/// Times are measured from the start of the last request, in the order of the steps. A skipped step has the time of the
/// step before it.
public struct TransferMetrics: Sendable, Hashable {
    /// How the response relates to the bytes that were already cached.
    package enum CacheDecision: Sendable, Hashable {
        /// Nothing was cached: the server sent the whole body.
        case fetched
        /// The cached copy was outdated: the server sent a new body.
        case replaced
        /// The server confirmed the cached copy (304 Not Modified).
        case notModified
        /// The server sent the rest of a body; this many bytes were kept from an interrupted transfer.
        case resumed(Int64)
    }

    /// The time in the queue before the first request.
    public var waiting: Duration = .zero
    /// The time until the host name was resolved.
    public var nameLookup: Duration = .zero
    /// The time until the connection was established.
    public var connect: Duration = .zero
    /// The time until the TLS handshake was complete.
    public var secureConnect: Duration = .zero
    /// The time until the first byte of the response arrived.
    public var firstByte: Duration = .zero
    /// The time until the last byte arrived.
    public var total: Duration = .zero
    /// The bytes of the body as received, before decompression.
    public var receivedByteCount: Int64 = 0
    /// The protocol version: `HTTP/1.0`, `HTTP/1.1`, `HTTP/2` or `HTTP/3`; empty if it is not known.
    public var protocolName = ""
    /// Whether the request used a connection that was already open.
    public var isReusedConnection = false
    /// The number of redirects that were followed.
    public var redirectCount = 0
    /// How the response relates to the bytes that were already cached.
    package var cacheDecision = CacheDecision.fetched

    /// Creates metrics in which everything is zero.
    public init() {}
}
