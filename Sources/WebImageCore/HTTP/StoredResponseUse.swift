package import FoundationEssentials

/// What is done with a response that the disk cache has.
package enum StoredResponseUse: Equatable {
    /// It is shown.
    case use
    /// It is shown, and the server is asked for the next time.
    case useAndRefresh
    /// The server is asked whether it is still the right one.
    case validate
    /// It is an answer to another request.
    case ignore

    /// - Parameter headers: What a request would send now.
    package init(
        _ metadata: ResponseMetadata,
        options: ImageOptions,
        headers: [String: String],
        now: Date
    ) {
        if options.contains(.fromCacheOnly) {
            self = .use
            return
        }
        guard metadata.isAnswer(to: headers) else {
            self = .ignore
            return
        }
        let freshness = Freshness(metadata, now: now)
        if options.contains(.refreshCached) {
            // RFC 8246: what never changes is not asked for again.
            self = freshness.isFresh && freshness.directives.isImmutable ? .use : .validate
        } else if options.contains(.ignoreFreshness) || freshness.isFresh {
            self = .use
        } else {
            self = freshness.isUsableWhileRevalidating ? .useAndRefresh : .validate
        }
    }
}

extension ResponseMetadata {
    /// Whether the fields that the response varies with are what they were (RFC 9111, 4.1).
    fileprivate func isAnswer(to headers: [String: String]) -> Bool {
        guard let vary, !vary.isEmpty else { return true }
        guard vary["*"] == nil else { return false }
        let now = Dictionary(headers.map { ($0.key.lowercased(), $0.value) }) { $1 }
        return vary.allSatisfy { now[$0.key] ?? "" == $0.value }
    }
}
