public import FoundationEssentials
public import WebImageCore

extension ImageDownloader {
    /// A redirect that a server has answered with, for ``Configuration/redirectHandler``.
    public struct Redirect: Sendable {
        /// The head of the response: its `url` is the one that redirects, its `status` 301, 302, 303, 307 or 308.
        public let response: ResponseHead
        /// The absolute URL that the Location field names.
        public let target: URL
    }

    /// A demand of a server or a proxy for a user name and a password (RFC 9110, 11), for ``Configuration/credential``.
    public struct CredentialRequest: Sendable {
        /// The URL that is requested.
        public let url: URL
        /// The host that demands the credential: that of the URL, or the proxy.
        public let host: String
        /// Whether a proxy demands it (407), rather than the server (401).
        public let isFromProxy: Bool
        /// What the credential is for, as the server or proxy calls it. `nil` when it does not say.
        public let realm: String?
        /// How often this load asks about the server or proxy, from 1: a credential that was returned before was refused.
        public let attempt: Int
    }
}
