/// How pictures are fetched over HTTP.
public struct CurlConfiguration: Sendable {
    /// Transfers at a time; the others wait by priority. On HTTP/2 too, so that the first screen comes first. Default:
    /// 6.
    public var maximumConcurrentTransfers = 6
    /// How long a connection may take to be made, TLS included. Default: 15 seconds.
    public var connectTimeout = Duration.seconds(15)
    /// How long a transfer may stand still. Default: 15 seconds.
    public var idleTimeout = Duration.seconds(15)
    /// How long a transfer may take in all. Default: no limit, as long as bytes arrive.
    public var totalTimeout: Duration?
    /// Bytes of a body, after decompression; more is refused as soon as it is known. Default: 128 MiB.
    public var maximumByteCount = 128 << 20
    /// Redirects that are followed, to `http` and `https` only. Default: 10.
    public var maximumRedirects = 10
    /// A file of certificates in PEM, of authorities to be trusted instead of those that the system trusts. Certificates
    /// are always verified. Default: those of the system.
    public var certificateAuthorityFile: String?
    /// `User-Agent`. Default: the name of the library; some servers want that of the app.
    public var userAgent = "GtkWebImage/0.1"
    /// Further headers of every request.
    public var headers: [String: String] = ["Accept": "image/*,*/*;q=0.8"]

    /// Makes a configuration of defaults.
    public init() {}
}
