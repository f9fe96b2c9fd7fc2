package import FoundationEssentials

/// The decision on how a load uses the response that the disk cache holds.
package enum StoredResponseUse: Equatable {
    /// The stored response is used without asking the server.
    case use
    /// The stale response is used now and revalidated for the next load.
    case useAndRefresh
    /// The response must be revalidated before it is used.
    case validate
    /// The response answers a different request (its Vary fields differ) and is not used.
    case ignore

    /// - Parameter headers: The header fields that a request would send now.
    package init(
        _ metadata: ResponseMetadata,
        policy: CachePolicy,
        headers: [String: String],
        now: Date
    ) {
        if policy == .cachedOnly {
            self = .use
            return
        }
        guard metadata.isAnswer(to: headers) else {
            self = .ignore
            return
        }
        let freshness = Freshness(metadata, now: now)
        if policy == .refresh {
            // RFC 8246: an immutable response needs no revalidation.
            self = freshness.isFresh && freshness.directives.isImmutable ? .use : .validate
        } else if policy == .cachedElseLoad || freshness.isFresh {
            self = .use
        } else {
            self = freshness.isUsableWhileRevalidating ? .useAndRefresh : .validate
        }
    }
}

extension ResponseMetadata {
    /// Whether the header fields that Vary names have the values of the original request (RFC 9111, 4.1).
    fileprivate func isAnswer(to headers: [String: String]) -> Bool {
        guard let vary, !vary.isEmpty else { return true }
        guard vary["*"] == nil else { return false }
        let now = Dictionary(headers.map { ($0.key.lowercased(), $0.value) }) { $1 }
        return vary.allSatisfy { now[$0.key] ?? "" == $0.value }
    }
}
