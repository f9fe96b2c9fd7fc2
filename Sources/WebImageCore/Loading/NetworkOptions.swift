import FoundationEssentials

/// The options of a network request. Loads with different options share no fetch, but their cache keys are the same.
public struct NetworkOptions: Hashable, Sendable {
    /// A user name and a password for HTTP authentication, Basic or Digest as the server requests.
    public struct Credential: Hashable, Sendable, CustomStringConvertible {
        /// The user name.
        public var user: String
        /// The password.
        public var password: String

        /// Creates a credential.
        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }

        /// The user name without the password, because a description may end up in a log.
        public var description: String { "Credential of \(user)" }

        /// The Authorization field with the scheme Basic (RFC 7617). It also represents the credential where responses vary by it.
        package var basicField: String { "Basic " + Data("\(user):\(password)".utf8).base64EncodedString() }
    }

    /// Additional header fields, sent only to the origin of the URL (scheme, host and port) and redirects within it. Default: none.
    public var headers: [String: String] = [:]
    /// The user name and password, sent only to the origin of the URL. Default: none; the downloader's `credential` is asked.
    public var credential: Credential?
    /// Whether cookies are sent and kept for the lifetime of the downloader. Default: false.
    public var handlesCookies = false
    /// Whether any server certificate is accepted. Use it only for servers under development. Default: false.
    public var allowsInvalidCertificates = false
    /// The time limit for connecting. Default: the setting of the downloader.
    public var connectTimeout: Duration?
    /// The time for which a transfer may receive nothing. Default: the setting of the downloader.
    public var idleTimeout: Duration?
    /// The time limit for a whole transfer. Default: the setting of the downloader.
    public var totalTimeout: Duration?
    /// Changes the request before it is sent. Default: the modifier of the downloader.
    public var requestModifier: RequestModifier?
    /// Changes or refuses the response before its body is read. Default: the modifier of the downloader.
    public var responseModifier: ResponseModifier?
    /// Decrypts the body. Default: the decryptor of the downloader.
    public var decryptor: ImageDecryptor?

    /// Creates options that change nothing in the settings of the downloader.
    public init() {}
}
