public import FoundationEssentials

extension ImageDownloader {
    /// The demand of a server or a proxy for a user name and a password (RFC 9110, 11), for ``Configuration/credential``.
    public struct CredentialRequest: Sendable {
        /// The URL that is requested.
        public let url: URL
        /// The host that demands the credential: the host of the URL, or the proxy.
        public let host: String
        /// Whether a proxy demands it (407), rather than the server (401).
        public let isFromProxy: Bool
        /// What the credential is for, as the server or proxy describes it; `nil` if it does not.
        public let realm: String?
        /// The number of this question within the load, starting at 1. A higher number means that the last credential was refused.
        public let attempt: Int
    }
}
