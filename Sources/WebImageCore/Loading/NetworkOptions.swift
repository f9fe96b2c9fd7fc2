/// How bytes are asked for over the network. Requests that differ in it share nothing while they are loaded; what they
/// load has the same key in the caches.
public struct NetworkOptions: Hashable, Sendable {
    /// A user name and a password for HTTP authentication, Basic or Digest as the server requests.
    public struct Credential: Hashable, Sendable, CustomStringConvertible {
        /// The user name.
        public var user: String
        /// The password.
        public var password: String

        /// Makes a credential.
        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }

        /// The user name without the password, since a description may end up in a log.
        public var description: String { "Credential of \(user)" }
    }

    /// Further header fields. They go to the host of the URL only, not to one that it redirects to. Default: none.
    public var headers: [String: String] = [:]
    /// A user name and a password, for that host only. Default: those of the downloader.
    public var credential: Credential?
    /// Whether cookies are sent and kept, for as long as the downloader lives. Default: no.
    public var handlesCookies = false
    /// Whether the server's certificate may be any at all. Only ever for servers under development. Default: no.
    public var allowsInvalidCertificates = false
    /// How long a connection may take to be made. Default: as the downloader says.
    public var connectTimeout: Duration?
    /// How long a transfer may stand still. Default: as the downloader says.
    public var idleTimeout: Duration?
    /// How long a transfer may take in all. Default: as the downloader says.
    public var totalTimeout: Duration?
    /// Changes the request before it is sent. Default: that of the downloader.
    public var requestModifier: RequestModifier?
    /// Changes or refuses the response before its body is read. Default: that of the downloader.
    public var responseModifier: ResponseModifier?
    /// Makes an image's bytes of what was sent. Default: that of the downloader.
    public var decryptor: Decryptor?

    /// Makes options of defaults.
    public init() {}
}
