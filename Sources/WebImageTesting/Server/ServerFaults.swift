public import FoundationEssentials

/// The faults and delays of a response. All are off by default and can be combined.
public struct ServerFaults: Sendable {
    /// Holds the whole response until the gate opens.
    public var gate: ServerGate?
    /// Holds the body after a number of bytes until the gate opens.
    public var bodyGate: (afterBytes: Int, gate: ServerGate)?
    /// Delays the response.
    public var delay: Duration?
    /// Sends the body in pieces of a number of bytes, with a pause after each.
    public var drip: (bytes: Int, every: Duration)?
    /// Resets the connection (RST) after a number of bytes of the body.
    public var resetAfterBytes: Int?
    /// Closes the connection after a number of bytes of the body.
    public var closeAfterBytes: Int?
    /// Stops sending after a number of bytes of the body, and keeps the connection open.
    public var stallAfterBytes: Int?
    /// Declares this Content-Length instead of the true one.
    public var declaredLength: Int?
    /// Sends the body with chunked transfer coding (RFC 9112, section 7.1).
    public var isChunked = false
    /// Omits Content-Length and ends the body by closing the connection.
    public var endsWithConnection = false
    /// Sends these bytes instead of a response, and closes the connection.
    public var rawResponse: Data?

    /// Creates a value without faults.
    public init() {}
}
