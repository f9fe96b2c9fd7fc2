import Foundation
public import FoundationEssentials
public import WebImageCore

/// How images are fetched over HTTP.
public struct DownloaderConfiguration: Sendable {
    /// Transfers at a time; the others wait by priority. On HTTP/2 too, so that the first screen comes first. Default:
    /// 6.
    public var maximumConcurrentTransfers = 6
    /// Transfers at a time from one host. Default: 6.
    public var maximumTransfersPerHost = 6
    /// Which of those of the same priority goes first. Default: the one that was asked for first.
    public var executionOrder = TransferOrder.firstInFirstOut
    /// How fast transfers may be started that are then cancelled. Default: see RateLimit; nil: as fast as asked
    /// for.
    public var rateLimit: RateLimit? = RateLimit()
    /// How long a connection may take to be made, TLS included. Default: 15 seconds.
    public var connectTimeout = Duration.seconds(15)
    /// How long a transfer may stand still, in whole seconds. Default: 15 seconds.
    public var idleTimeout = Duration.seconds(15)
    /// How long a transfer may take in all. Default: no limit, as long as bytes arrive.
    public var totalTimeout: Duration?
    /// Which share of the body comes between two reports of progress, 0 to 1; the last one always comes. Default: 0, a
    /// report for each piece that arrives.
    public var minimumProgressFraction = 0.0

    /// Bytes of a body, after decompression; more is refused as soon as it is known. Default: 128 MiB.
    public var maximumByteCount = 128 << 20
    /// Bytes of a body from which on it is kept in a file instead of memory. Default: 16 MiB.
    public var inMemoryBodyLimit = 16 << 20
    /// Bytes of transfers that were broken off which are kept in memory, so that they can be continued. Default: 32
    /// MiB; 0: none.
    public var resumableByteCount = 32 << 20
    /// Redirects that are followed, to http and https only. Default: 10.
    public var maximumRedirects = 10
    /// Statuses that mean success. Default: 200 to 299.
    public var acceptedStatusCodes = Set(200...299)
    /// Media types that are accepted, such as image/png or image/*; a response without one always is. Default: any.
    public var acceptedContentTypes: Set<String>?

    /// User-Agent. Default: the name of the program and that of the library.
    public var userAgent = UserAgent.standard
    /// Further header fields of every request. Default: Accept for images.
    public var headers: [String: String] = ["Accept": "image/*,*/*;q=0.8"]
    /// Has the last word on the header fields of a request. Called on the network thread and on those that read the
    /// disk cache. Default: none.
    public var headerFilter: (@Sendable (_ url: URL, _ headers: [String: String]) -> [String: String])?
    /// Changes requests before they are sent. Default: none.
    public var requestModifier: RequestModifier?
    /// Changes or refuses responses before their bodies are read. Default: none.
    public var responseModifier: ResponseModifier?
    /// Makes an image's bytes of what was sent. Default: none.
    public var decryptor: Decryptor?
    /// User names and passwords, asked for with each URL that is fetched, redirects included. Called on the network
    /// thread. Default: none.
    public var credential: (@Sendable (URL) -> Credential?)?

    /// A file of certificates in PEM, of authorities to be trusted instead of those that the system trusts.
    /// Certificates are always verified, unless a request says otherwise. Default: those of the system.
    public var certificateAuthorityFile: String?
    /// What this program identifies itself with to servers that ask for it. Default: nothing.
    public var clientCertificate: ClientCertificate?
    /// Which proxy is used. Default: that of the environment, else that of the desktop.
    public var proxy = ProxyMode.system

    /// Makes a configuration of defaults.
    public init() {}
}

/// Which of several transfers of the same priority is started first.
public enum TransferOrder: Sendable {
    /// The one that was asked for first.
    case firstInFirstOut
    /// The one that was asked for last.
    case lastInFirstOut
}

/// Which HTTP proxy requests go through.
public enum ProxyMode: Sendable, Hashable {
    /// That of the environment variables http_proxy, https_proxy, all_proxy and no_proxy, when any is set, else
    /// that of the desktop (GProxyResolver), which may say another one for each URL.
    case system
    /// That of the environment variables.
    case environment
    /// None.
    case none
    /// This one: http, https, socks4, socks4a, socks5 or socks5h.
    case fixed(URL)
}

/// A limit for storms of requests that are cancelled as soon as they are made, as when somebody drags a scroll bar. A
/// transfer that comes to its end costs nothing, so useful work is never held up.
public struct RateLimit: Sendable, Hashable {
    /// Starts per second, in the long run. Default: 80.
    public var perSecond: Double
    /// Starts at once, after a while without any. Default: 25.
    public var burst: Int

    /// Makes a limit.
    public init(perSecond: Double = 80, burst: Int = 25) {
        self.perSecond = max(perSecond, 1)
        self.burst = max(burst, 1)
    }
}

/// A certificate that a program shows to servers, with its private key, in files in PEM.
public struct ClientCertificate: Sendable, Hashable {
    /// The path of the certificate.
    public var file: String
    /// The path of the private key. Default: it is in the same file.
    public var keyFile: String?
    /// What the key is encrypted with. Default: it is not.
    public var password: String?

    /// Makes a certificate.
    public init(file: String, keyFile: String? = nil, password: String? = nil) {
        self.file = file
        self.keyFile = keyFile
        self.password = password
    }
}

/// What the library calls itself to servers.
enum UserAgent {
    /// program GtkWebImage/0.1, in printable ASCII.
    static var standard: String {
        let name = ProcessInfo.processInfo.processName.filter {
            $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0))
        }
        return name.isEmpty ? library : "\(name) \(library)"
    }

    private static let library = "GtkWebImage/0.1"
}
