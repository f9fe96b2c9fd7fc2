import FoundationEssentials

/// The options of a network request. Loads with different options share no fetch, but they have the same cache keys.
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

        /// The value of Authorization with the scheme Basic (RFC 7617). It also stands for the credential where responses depend on it.
        package var basicField: String { "Basic " + Data("\(user):\(password)".utf8).base64EncodedString() }
    }

    /// Additional header fields. They are sent to the host of the URL, and not to one that it redirects to. Default: none.
    public var headers: [String: String] = [:]
    /// The user name and password, sent to the host of the URL only. Default: those of the downloader.
    public var credential: Credential?
    /// Whether cookies are sent and kept for the lifetime of the downloader. Default: false.
    public var handlesCookies = false
    /// Whether any server certificate is accepted. Only for servers under development. Default: false.
    public var allowsInvalidCertificates = false
    /// The time limit for connecting. Default: that of the downloader.
    public var connectTimeout: Duration?
    /// The time limit for a transfer that receives nothing. Default: that of the downloader.
    public var idleTimeout: Duration?
    /// The time limit for a whole transfer. Default: that of the downloader.
    public var totalTimeout: Duration?
    /// Changes the request before it is sent. Default: that of the downloader.
    public var requestModifier: RequestModifier?
    /// Changes or refuses the response before its body is read. Default: that of the downloader.
    public var responseModifier: ResponseModifier?
    /// Decrypts the body. Default: that of the downloader.
    public var decryptor: Decryptor?

    /// Creates options that add nothing to what the downloader is configured to do.
    public init() {}
}
