public import FoundationEssentials

/// Maps URLs of the same image to one cache key when they differ only in signatures, tokens or hosts of a content delivery network.
/// URLs with equal keys are fetched once.
public struct CacheKeyFilter: Sendable {
    private let body: @Sendable (URL) -> String?

    /// - Parameter body: Returns the key, or `nil` to use the URL itself. Called on any thread for each request, so it must be
    ///   fast.
    public init(_ body: @escaping @Sendable (URL) -> String?) {
        self.body = body
    }

    /// Removes the whole query.
    public static let withoutQuery = CacheKeyFilter { url in
        guard let end = url.absoluteString.firstIndex(where: { $0 == "?" || $0 == "#" }) else { return nil }
        return String(url.absoluteString[..<end])
    }

    /// Removes query items that do not select the image, such as signatures.
    /// - Parameter names: The names of the items, as written in the URL. Default: ``CacheKeyFilter/signatures``.
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

    /// The query items in URLs that Amazon, Google, Azure and CloudFront sign.
    public static let signatures: Set<String> = [
        "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-Signature", "X-Amz-SignedHeaders",
        "X-Amz-Security-Token", "X-Goog-Algorithm", "X-Goog-Credential", "X-Goog-Date", "X-Goog-Expires",
        "X-Goog-Signature", "X-Goog-SignedHeaders", "Expires", "Signature", "Key-Pair-Id", "Policy", "sig", "se", "st",
        "sp", "sv", "sr", "spr", "skoid", "sktid", "skt", "ske", "sks", "skv",
    ]

    /// The key of a URL; `nil` for the URL itself.
    func key(for url: URL) -> String? {
        guard let userKey = url.userKey else { return body(url) }
        return body(URL(string: url.textWithoutUserInfo) ?? url).map { $0 + userKey }
    }
}

extension URL {
    /// The URL without the query items in ``CacheKeyFilter/signatures``.
    package var withoutSignature: String { CacheKeyFilter.withoutQueryItems().key(for: self) ?? absoluteString }
}
