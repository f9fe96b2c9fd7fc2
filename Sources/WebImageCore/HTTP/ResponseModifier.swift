/// Changes the heads of responses before anything is made of them, or refuses them.
public struct ResponseModifier: Hashable, Sendable {
    /// Tells modifiers apart; those with equal keys are taken for the same.
    public let key: String
    package let modify: @Sendable (HTTPResponse) -> HTTPResponse?

    /// Makes a modifier.
    /// - Parameters:
    ///   - key: See key.
    ///   - modify: Returns the head to go by, or nil to refuse the response, which ends the load with
    ///     ``ImageError/Code/badResponse``. Called on the network thread, so quick.
    public init(key: String, _ modify: @escaping @Sendable (HTTPResponse) -> HTTPResponse?) {
        self.key = key
        self.modify = modify
    }

    /// Sets header fields, such as a Cache-Control that the server lacks.
    public static func headers(_ headers: [String: String]) -> ResponseModifier {
        let lowercased = Dictionary(headers.map { ($0.key.lowercased(), $0.value) }) { $1 }
        return ResponseModifier(key: "headers(\(lowercased.sorted { $0.key < $1.key }))") { response in
            var response = response
            response.headers.merge(lowercased) { $1 }
            return response
        }
    }

    /// This one, then the other.
    public func then(_ other: ResponseModifier) -> ResponseModifier {
        ResponseModifier(key: "\(key) \(other.key)") { self.modify($0).flatMap(other.modify) }
    }

    /// By key.
    public static func == (lhs: ResponseModifier, rhs: ResponseModifier) -> Bool { lhs.key == rhs.key }

    /// By key.
    public func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
