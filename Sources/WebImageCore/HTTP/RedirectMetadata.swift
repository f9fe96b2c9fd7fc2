import FoundationEssentials

/// What a redirect says about using the response that it leads to again.
///
/// RFC 9111 stores each response of a chain by its own URL. A cache that stores the last one by the URL of the request may use it
/// for as long as it could use all of them.
package struct RedirectMetadata: Sendable {
    private let metadata: ResponseMetadata
    /// Whether the redirect holds although it does not say for how long (RFC 9110, 15.4).
    private let isPermanent: Bool

    /// - Parameters:
    ///   - status: The status code of the redirect.
    ///   - metadata: The fields of its head.
    package init(status: Int, metadata: ResponseMetadata) {
        self.metadata = metadata
        isPermanent = [301, 308].contains(status)
    }

    fileprivate var vary: [String: String] { metadata.vary ?? [:] }

    fileprivate func directives(at time: Date) -> DatedDirectives {
        var dated = DatedDirectives(metadata, at: time)
        let isExplicit = dated.directives.maxAge != nil || metadata.expires != nil
        // A redirect that is not to be stored is asked for again; the response that it led to may still be stored.
        if dated.directives.isNoStore || !isExplicit && !isPermanent { dated.remaining = min(dated.remaining, 0) }
        return dated
    }
}

extension ResponseMetadata {
    /// Returns this metadata with the limits of the redirects that led to the response.
    package func limited(by redirects: [RedirectMetadata]) -> ResponseMetadata {
        guard !redirects.isEmpty else { return self }
        let time = responseTime ?? Date()
        let own = DatedDirectives(self, at: time)
        let all = redirects.reduce(own) { $0.limited(by: $1.directives(at: time)) }
        var result = self
        if all.remaining < own.remaining || all.directives != own.directives { result.cacheControl = all.field }
        let varying = redirects.reduce(vary ?? [:]) { $0.merging($1.vary) { own, _ in own } }
        result.vary = varying.isEmpty ? nil : varying
        return result
    }
}

/// Directives with the times that they mean, in seconds from a moment on.
private struct DatedDirectives {
    private(set) var directives: CacheDirectives
    /// The time for which the response is fresh: infinity when nobody says.
    var remaining: Double
    private let age: Double

    init(_ metadata: ResponseMetadata, at time: Date) {
        let freshness = Freshness(metadata, now: time)
        directives = freshness.directives
        age = freshness.age
        remaining = freshness.lifetime.map { $0 - freshness.age } ?? .infinity
    }

    func limited(by other: DatedDirectives) -> DatedDirectives {
        var result = self
        result.remaining = min(remaining, other.remaining)
        result.directives.isNoCache = directives.isNoCache || other.directives.isNoCache
        result.directives.mustRevalidate = directives.mustRevalidate || other.directives.mustRevalidate
        result.directives.isImmutable = directives.isImmutable && other.directives.isImmutable
        result.directives.staleWhileRevalidate = result.rest(
            of: min(end(directives.staleWhileRevalidate ?? 0), other.end(other.directives.staleWhileRevalidate ?? 0))
        )
        result.directives.staleIfError = result.rest(
            of: min(end(directives.staleIfError), other.end(other.directives.staleIfError))
        )
        return result
    }

    /// When a time after the freshness ends; infinity when it does not.
    private func end(_ seconds: Double?) -> Double { seconds.map { remaining + $0 } ?? .infinity }

    /// The time after the freshness until an end; `nil` when it has none.
    private func rest(of end: Double) -> Double? { end < .infinity ? max(end - remaining, 0) : nil }

    /// The Cache-Control field that means the same.
    var field: String {
        // The age of the response counts from the same moment.
        let lifetime = remaining < .infinity ? max(remaining + age, 0) : nil
        let seconds = [
            ("max-age", lifetime), ("stale-while-revalidate", directives.staleWhileRevalidate),
            ("stale-if-error", directives.staleIfError),
        ]
        let flags = [
            ("no-store", directives.isNoStore), ("no-cache", directives.isNoCache),
            ("must-revalidate", directives.mustRevalidate), ("immutable", directives.isImmutable),
        ]
        let values = seconds.compactMap { name, value in value.map { "\(name)=\(Int64(min($0, Self.longest)))" } }
        return (flags.filter(\.1).map(\.0) + values).joined(separator: ", ")
    }

    /// RFC 9111, 1.2.2: a larger number counts as this one.
    private static let longest = 2_147_483_648.0
}
