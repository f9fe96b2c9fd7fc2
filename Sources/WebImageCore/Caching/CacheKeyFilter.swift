public import FoundationEssentials

/// Says under which name a URL is cached, for URLs that differ though their images do not: signatures, tokens, hosts
/// of a content network. What has one name is fetched once.
public struct CacheKeyFilter: Sendable {
    private let body: @Sendable (URL) -> String?

    /// - Parameter body: The name; `nil` for the URL itself. Quick, and from any thread: it is called for each request.
    public init(_ body: @escaping @Sendable (URL) -> String?) {
        self.body = body
    }

    /// Leaves out the whole query.
    public static let withoutQuery = CacheKeyFilter { url in
        guard let end = url.absoluteString.firstIndex(where: { $0 == "?" || $0 == "#" }) else { return nil }
        return String(url.absoluteString[..<end])
    }

    /// Leaves out some items of the query: those that only say that one may have the image.
    /// - Parameter names: As they are in the URL. Default: those of the large clouds.
    public static func withoutQueryItems(_ names: Set<String> = signatures) -> CacheKeyFilter {
        CacheKeyFilter { url in
            let text = url.absoluteString
            guard let start = text.firstIndex(of: "?") else { return nil }
            let query = text[text.index(after: start)...].prefix { $0 != "#" }
            let items = query.split(separator: "&")
            let kept = items.filter { !names.contains(String($0.prefix { $0 != "=" })) }
            guard kept.count < items.count else { return nil }
            return String(text[..<start]) + (kept.isEmpty ? "" : "?" + kept.joined(separator: "&"))
        }
    }

    /// What Amazon, Google, Azure and CloudFront put into the URLs that they sign.
    public static let signatures: Set<String> = [
        "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-Signature", "X-Amz-SignedHeaders",
        "X-Amz-Security-Token", "X-Goog-Algorithm", "X-Goog-Credential", "X-Goog-Date", "X-Goog-Expires",
        "X-Goog-Signature", "X-Goog-SignedHeaders", "Expires", "Signature", "Key-Pair-Id", "Policy", "sig", "se", "st",
        "sp", "sv", "sr", "spr", "skoid", "sktid", "skt", "ske", "sks", "skv",
    ]

    func key(for url: URL) -> String? { body(url) }
}
