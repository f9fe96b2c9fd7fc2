public import FoundationEssentials

/// What goes wrong, or slowly, with a response. Everything is off by default, and everything can be combined.
public struct ServerFaults: Sendable {
    /// Nothing is sent before the gate is open.
    public var gate: ServerGate?
    /// So many bytes of the body are sent, the rest when the gate is open.
    public var bodyGate: (afterBytes: Int, gate: ServerGate)?
    /// A pause before anything is sent.
    public var delay: Duration?
    /// The body is sent in pieces of so many bytes with a pause after each.
    public var drip: (bytes: Int, every: Duration)?
    /// The connection is reset (RST) after so many bytes of the body.
    public var resetAfterBytes: Int?
    /// The connection is closed after so many bytes of the body, as if that were all.
    public var closeAfterBytes: Int?
    /// Nothing more comes after so many bytes of the body, and the connection stays open.
    public var stallAfterBytes: Int?
    /// A Content-Length that is not that of the body.
    public var declaredLength: Int?
    /// The body is sent in chunks, without its length (RFC 9112, 7.1).
    public var isChunked = false
    /// The body is sent without its length and ends with the connection.
    public var endsWithConnection = false
    /// These bytes are sent instead of a response, and the connection is closed.
    public var rawResponse: Data?

    /// No faults.
    public init() {}
}
