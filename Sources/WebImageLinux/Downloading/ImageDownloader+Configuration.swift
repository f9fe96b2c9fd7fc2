public import FoundationEssentials
public import WebImageCore

extension ImageDownloader {
    /// The settings of a downloader.
    public struct Configuration: Sendable {
        /// The maximum number of concurrent transfers. Further transfers wait by priority. Default: 24.
        ///
        /// A quarter of them is reserved for servers with few running transfers. If such a server finds no room, a transfer of no
        /// higher priority fails if it has received less than 256 bytes per second over a third of ``idleTimeout``, over https over
        /// at least 64 seconds.
        public var maximumConcurrentTransfers = 24
        /// The maximum number of concurrent transfers from one server, which is a scheme, host and port. It also applies to
        /// HTTP/2, so that the most urgent images arrive first. Default: 6.
        public var maximumTransfersPerHost = 6
        /// The order in which transfers of the same priority start. Loads that wait in a manager before their transfer
        /// keep the order that was set when the manager was created. Default: first in, first out.
        public var transferOrder = TransferOrder.firstInFirstOut
        /// The rate at which transfers may start. Only cancelled transfers count against it. `nil` means no limit.
        /// Default: see ``RateLimit``.
        package var rateLimit: RateLimit? = RateLimit()
        /// The time limit for establishing a connection, including TLS. Default: 15 seconds.
        public var connectTimeout = Duration.seconds(15)
        /// The time for which a transfer may receive no bytes. Default: 15 seconds.
        public var idleTimeout = Duration.seconds(15)
        /// The time limit for a whole transfer, including redirects. Default: none, as long as bytes arrive.
        public var totalTimeout: Duration?
        /// The largest body in bytes, both as received and after decompression. A larger body fails with
        /// ``/WebImageCore/ImageError/Code/bodyTooLarge`` as soon as its size is known. Default: 128 MiB.
        public var maximumByteCount = 128 << 20
        /// The size in bytes from which a body is kept in a temporary file instead of memory. Default: 16 MiB.
        package var inMemoryBodyLimit = 16 << 20
        /// The number of bytes of interrupted transfers that are kept in memory so that they can be resumed; 0 keeps
        /// none. Default: 32 MiB.
        package var resumableByteCount = 32 << 20
        /// The maximum number of redirects. Only redirects to http and https are followed. Default: 10.
        public var maximumRedirects = 10
        /// Whether redirects from https to http are followed. Default: false, because an attacker on the network could
        /// replace the image.
        public var allowsInsecureRedirects = false
        /// The status codes that count as success. Default: 200 to 299.
        public var acceptedStatusCodes = Set(200...299)
        /// The media types that are accepted, such as image/png or image/*. A response without a media type is always
        /// accepted. Default: any.
        public var acceptedContentTypes: Set<String>?

        /// The User-Agent field. Default: the name of the program and the name of the library.
        public var userAgent = Self.standardUserAgent
        /// Additional header fields of every request. Default: none. The library sets Accept to what its decoders show, Save-Data while the
        /// network is metered, and Priority (RFC 9218), unless you set these fields.
        public var headers: [String: String] = [:]
        /// Changes requests before they are sent. Default: none.
        public var requestModifier: RequestModifier?
        /// Changes or refuses responses before their bodies are read. Default: none.
        public var responseModifier: ResponseModifier?
        /// Turns bodies into the bytes of images. Default: none.
        public var decryptor: ImageDecryptor?
        /// A closure that provides a credential if a server answers 401, or a proxy 407, with a challenge for Basic or
        /// Digest authentication. If it returns `nil`, the load fails with that status.
        ///
        /// Called on a thread of Swift's concurrency for each refused load, at most three times for each server or proxy. Other
        /// loads continue in the meantime. It may take any time, for example while a user types a password, unless ``totalTimeout``
        /// ends the load. The credential is sent only to the server or proxy that asks for it. Default: none, so these loads fail.
        public var credential: (@Sendable (_ request: CredentialRequest) async -> NetworkOptions.Credential?)?
        /// Whether new connections over https try HTTP/3, if libcurl supports it through ngtcp2. QUIC starts first, and
        /// TCP a tenth of a second later if there is no answer. The connection that is established first is used. Hosts
        /// with pinned keys, and requests through a proxy, use TCP.
        ///
        /// Default: false, because each new connection to a server without HTTP/3 costs that tenth of a second.
        public var usesHTTP3 = false

        /// The path of a PEM file with the certificate authorities to trust instead of those of the system. Certificates
        /// are always verified unless the request allows invalid ones. Default: the authorities of the system.
        public var certificateAuthorityFile: String?
        /// The public keys that the certificates of a host may have, by host name: the Base64 texts of the SHA-256 hashes of their
        /// SubjectPublicKeyInfo (RFC 7469, 2.4). The certificate is verified as well, unless the request allows invalid ones.
        ///
        /// An https connection to such a host fails with ``/WebImageCore/ImageError/Code/tlsFailed`` if the host shows
        /// another key; with an empty set, every connection fails. List subdomains separately. A text that is not such
        /// a hash matches no key and is logged as a programming error when you set it. Default: none.
        public var pinnedPublicKeys: [String: Set<String>] = [:] {
            didSet { PinnedKeys.reportMistakes(in: pinnedPublicKeys, known: oldValue) }
        }
        /// The certificate that identifies this program to servers that request one. Default: none.
        public var clientCertificate: ClientCertificate?
        /// The proxy. Default: the proxy of the environment variables, else the proxy of the desktop.
        public var proxy = Proxy.system

        /// Creates a configuration with the default settings.
        public init() {}
    }

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

    /// The order in which transfers of the same priority start.
    public enum TransferOrder: Sendable {
        /// The oldest transfer starts first.
        case firstInFirstOut
        /// The newest transfer starts first.
        case lastInFirstOut
    }

    /// The HTTP proxy that requests go through.
    public enum Proxy: Sendable, Hashable {
        /// The environment variables http_proxy, https_proxy, all_proxy and no_proxy if any of them is set; otherwise
        /// the proxy of the desktop (GProxyResolver), which may differ by URL.
        case system
        /// The environment variables http_proxy, https_proxy, all_proxy and no_proxy.
        case environment
        /// No proxy.
        case none
        /// The proxy at a URL with the scheme http, https, socks4, socks4a, socks5 or socks5h.
        case fixed(URL)
    }

    /// A limit for bursts of transfers that are cancelled soon after their start, for example while the user drags a scroll bar.
    ///
    /// A transfer that is not cancelled does not count, so the limit never delays useful work.
    package struct RateLimit: Sendable, Hashable {
        /// The number of starts per second over a longer time, at least 1. Default: 80.
        package let perSecond: Double
        /// The number of starts that are allowed at once after a pause, at least 1. Default: 25.
        package let burst: Int

        /// Creates a limit.
        package init(perSecond: Double = 80, burst: Int = 25) {
            self.perSecond = perSecond.bounded(to: 1...1_000_000, ifNaN: 80)
            self.burst = max(burst, 1)
        }
    }

    /// A certificate with its private key, in PEM files, that identifies a program to servers.
    public struct ClientCertificate: Sendable, Hashable {
        /// The path of the certificate.
        public var file: String
        /// The path of the private key. Default: the file of the certificate.
        public var keyFile: String?
        /// The password of the private key. Default: the key is not encrypted.
        public var password: String?

        /// Creates a certificate.
        public init(file: String, keyFile: String? = nil, password: String? = nil) {
            self.file = file
            self.keyFile = keyFile
            self.password = password
        }
    }
}

extension ImageDownloader.Configuration {
    /// The program's name in printable ASCII, then the library's: `viewer GtkWebImage/0.1.0`.
    private static var standardUserAgent: String {
        let library = "GtkWebImage/\(LibraryVersion.current)"
        let program = CommandLine.arguments.first?.split(separator: "/").last ?? ""
        let name = program.filter {
            $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0))
        }
        return name.isEmpty ? library : "\(name) \(library)"
    }

    /// The public keys that are pinned for the host of a URL; `nil` if there is no list for the host.
    func pinnedKeys(for url: URL) -> Set<String>? {
        guard !pinnedPublicKeys.isEmpty else { return nil }
        // Host names have more than one spelling.
        let host = CurlAddress.host(of: url)
        let lists = pinnedPublicKeys.filter { name, _ in
            URL(string: "https://\(name)/").map(CurlAddress.host) ?? name.lowercased() == host
        }
        return lists.isEmpty ? nil : Set(lists.values.joined())
    }
}

/// Checks the public keys that an app pins. A malformed key would otherwise look as if the server had another key.
enum PinnedKeys {
    /// The hash of no bytes, which openssl prints if it received no certificate.
    private static let hashOfNothing = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    /// Logs each new pin that is not the hash of a key.
    static func reportMistakes(in pins: [String: Set<String>], known: [String: Set<String>]) {
        for (host, keys) in pins.sorted(by: { $0.key < $1.key }) {
            for key in keys.subtracting(known[host] ?? []).sorted() {
                guard let problem = problem(of: key) else { continue }
                WebImageLog.mistake(
                    """
                    The key \"\(key.prefix(100))\" that is pinned for \(host) \(problem), so that no certificate has it. Pin the \
                    Base64 text of the SHA-256 hash of the server's public key; the page Networking has the command that prints it.
                    """
                )
            }
        }
    }

    /// - Returns: `nil` if the text may be the hash of a key.
    static func problem(of key: String) -> String? {
        guard key != hashOfNothing else { return "is the hash of nothing: the command that printed it got no key" }
        return Data(base64Encoded: key)?.count == 32 ? nil : "is no SHA-256 hash in Base64"
    }
}

/// The scheme, host and port of a URL (RFC 6454, 4), which name one server.
struct Origin: Hashable {
    let scheme: String
    let host: String
    let port: Int
}

extension URL {
    var origin: Origin {
        let scheme = scheme?.lowercased() ?? ""
        return Origin(scheme: scheme, host: host()?.lowercased() ?? "", port: port ?? (scheme == "https" ? 443 : 80))
    }
}
