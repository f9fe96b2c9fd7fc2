package import FoundationEssentials

extension ResponseMetadata {
    /// The metadata of the redirects that led to a response.
    ///
    /// RFC 9111 stores each response of a chain by its own URL. A cache that stores the last response by the URL of the
    /// request may use it for as long as it could use all of them.
    package struct Redirects: Codable, Hashable, Sendable {
        /// What the redirects allow together, as a Cache-Control field whose times start when the response arrives.
        var control = ""
        /// The fields that their Vary fields name, in the form of ``ResponseMetadata/vary``.
        package var vary: [String: String]?
        /// The target URL with and without its signature, as salted hashes because it may contain secrets.
        private var target = ""
        private var unsigned = ""

        init() {}

        /// - Parameters:
        ///   - responses: The status codes and the metadata of the redirects.
        ///   - target: The target URL.
        ///   - unsigned: The target URL without its signature. Default: it has none.
        ///   - time: When the response of the target arrived.
        package init(
            _ responses: [(status: Int, metadata: ResponseMetadata)],
            to target: URL,
            unsigned: String? = nil,
            at time: Date
        ) {
            let limits = responses.map { DatedDirectives(ofRedirect: $0.status, $0.metadata, at: time) }
            control = limits.dropFirst().reduce(limits.first ?? DatedDirectives()) { $0.limited(by: $1) }.field
            let varying = responses.reduce([:]) { $0.merging($1.metadata.vary ?? [:]) { first, _ in first } }
            vary = varying.isEmpty ? nil : varying
            self.target = VaryingField.text(for: target.absoluteString)
            self.unsigned = VaryingField.text(for: unsigned ?? target.absoluteString)
        }

        /// Lists the fields for the disk cache.
        mutating func code(_ coder: inout MessageCoder) throws(MessageCoder.Malformed) {
            try coder.code(&control)
            try coder.code(&vary)
            try coder.code(&target)
            try coder.code(&unsigned)
        }

        /// Whether a URL is the target of the redirects.
        package func isTarget(_ url: URL) -> Bool { VaryingField.isText(target, of: url.absoluteString) }

        /// Whether a URL is the target, ignoring the signature, which differs each time.
        package func isTarget(unsigned: String) -> Bool { VaryingField.isText(self.unsigned, of: unsigned) }

        /// The approximate number of bytes in memory.
        var byteCount: Int {
            let fields = (vary ?? [:]).reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
            return control.utf8.count + target.utf8.count + unsigned.utf8.count + fields
        }
    }
}

/// Directives with their times in seconds from a common start.
struct DatedDirectives {
    private(set) var directives = CacheDirectives(nil)
    /// The time for which the response is fresh; infinity if nothing limits it.
    private(set) var remaining = Double.infinity

    init() { directives.isImmutable = true }

    init(_ directives: CacheDirectives, remaining: Double) {
        (self.directives, self.remaining) = (directives, remaining)
    }

    /// The limits that a redirect sets for its target. A temporary redirect must state how long it is valid (RFC 9110,
    /// 15.4). A redirect with no-store is requested again, but the response that it led to may still be stored.
    init(ofRedirect status: Int, _ metadata: ResponseMetadata, at time: Date) {
        let freshness = Freshness(metadata, now: time)
        directives = freshness.directives
        remaining = freshness.lifetime.map { $0 - freshness.age } ?? .infinity
        let isExplicit = directives.maxAge != nil || metadata.expires != nil
        if directives.isNoStore || !isExplicit && ![301, 308].contains(status) { remaining = min(remaining, 0) }
        directives.isNoStore = false
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

    /// The end of a time after the freshness; infinity if it has none.
    private func end(_ seconds: Double?) -> Double { seconds.map { remaining + $0 } ?? .infinity }

    /// The time from the end of the freshness to a later end; `nil` if it has none.
    private func rest(of end: Double) -> Double? { end < .infinity ? max(end - remaining, 0) : nil }

    /// The Cache-Control field that expresses the same limits.
    var field: String {
        // A response that is already stale has used up some of the later times.
        let used = max(-remaining, 0)
        let seconds = [
            ("max-age", remaining < .infinity ? max(remaining, 0) : nil),
            ("stale-while-revalidate", directives.staleWhileRevalidate.map { max($0 - used, 0) }),
            ("stale-if-error", directives.staleIfError.map { max($0 - used, 0) }),
        ]
        let flags = [
            ("no-cache", directives.isNoCache), ("must-revalidate", directives.mustRevalidate),
            ("immutable", directives.isImmutable),
        ]
        let values = seconds.compactMap { name, value in value.map { "\(name)=\(Int64(min($0, Self.longest)))" } }
        return (flags.filter(\.1).map(\.0) + values).joined(separator: ", ")
    }

    /// RFC 9111, 1.2.2: a larger number counts as this one.
    private static let longest = 2_147_483_648.0
}
