/// Changes requests before they are sent, to sign them for example.
public struct RequestModifier: Hashable, Sendable {
    /// Tells modifiers apart; those with equal keys are taken for the same.
    public let key: String
    package let modify: @Sendable (HTTPRequest) -> HTTPRequest?

    /// Makes a modifier.
    /// - Parameters:
    ///   - key: See key.
    ///   - modify: Returns the request to send, or nil to send none, which ends the load with
    ///     ``ImageError/Code/invalidRequest``. Called on the network thread, so quick; again for each redirect to the
    ///     same host.
    public init(key: String, _ modify: @escaping @Sendable (HTTPRequest) -> HTTPRequest?) {
        self.key = key
        self.modify = modify
    }

    /// Sets header fields.
    public static func headers(_ headers: [String: String]) -> RequestModifier {
        RequestModifier(key: "headers(\(headers.sorted { $0.key < $1.key }))") { request in
            var request = request
            request.headers.merge(headers) { $1 }
            return request
        }
    }

    /// This one, then the other.
    public func then(_ other: RequestModifier) -> RequestModifier {
        RequestModifier(key: "\(key) \(other.key)") { self.modify($0).flatMap(other.modify) }
    }

    /// By key.
    public static func == (lhs: RequestModifier, rhs: RequestModifier) -> Bool { lhs.key == rhs.key }

    /// By key.
    public func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
