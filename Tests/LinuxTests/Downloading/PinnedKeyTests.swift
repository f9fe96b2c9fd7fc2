import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Pinned public keys, with nginx")
struct PinnedKeyTests {
    private static let body = Data((0..<1000).map { UInt8(truncatingIfNeeded: $0) })

    private let nginx: Nginx
    private let key: String

    init() throws {
        nginx = try Nginx(files: ["a.bin": Self.body])
        let script = """
            openssl x509 -in '\(nginx.certificateFile(.good))' -pubkey -noout | openssl pkey -pubin -outform der \
                | openssl dgst -sha256 -binary | openssl base64
            """
        key = try ChildProcess.run("sh", ["-c", script]).output.filter { $0 != "\n" }
    }

    private static let otherKey = Data(repeating: 7, count: 32).base64EncodedString()

    private func downloader(_ keys: [String: Set<String>]) -> ImageDownloader {
        ImageDownloader {
            $0.certificateAuthorityFile = nginx.authorityFile
            $0.pinnedPublicKeys = keys
        }
    }

    @Test("A host whose key is among those that are pinned for it is trusted, as is one without pinned keys")
    func pinned() throws {
        for keys in [[key], [Self.otherKey, key], [key, "no hash", "/etc/passwd"]] {
            let downloader = downloader(["127.0.0.1": Set(keys)])
            #expect(try Download(downloader, nginx.url("a.bin", .good)).end().data == Self.body)
        }
        #expect(try Download(downloader(["other.example": []]), nginx.url("a.bin", .good)).end().data == Self.body)
    }

    @Test("A pinned text that is no hash of a key is named by the error, and one that is does not change it")
    func malformed() throws {
        let nothing = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        for (keys, names) in [
            (["oops"], "oops"), ([Self.otherKey, nothing], nothing), ([Self.otherKey], nil),
        ] as [([String], String?)] {
            let downloader = downloader(["127.0.0.1": Set(keys)])
            let error = try #require(Download(downloader, nginx.url("a.bin", .good)).failure())
            #expect(error.code == .tlsFailed && error.remedy.contains("Correct") == (names != nil))
            #expect(names.map { error.remedy.contains("\"\($0)\"") } ?? true)
        }
    }

    @Test(
        "A host with another key is refused, however the host is written, and with a certificate that is not looked at",
        arguments: ["127.0.0.1", "2130706433", "127.1", "0x7f.0.0.1"]
    )
    func otherKey(host: String) throws {
        for keys in [[Self.otherKey], [], ["no hash"], ["/etc/passwd"], ["\(Self.otherKey);/etc/passwd"]] {
            let downloader = downloader(["127.0.0.1": Set(keys)])
            let port = try #require(nginx.url("a.bin", .good).port)
            let url = try #require(URL(string: "https://\(host):\(port)/a.bin"))
            let error = Download(downloader, url) { $0.allowsInvalidCertificates = true }.failure()
            #expect(error?.code == .tlsFailed && error?.remedy.contains("pinnedPublicKeys") == true, "\(keys)")
        }
        #expect(nginx.log.isEmpty)
    }

    @Test("A host with a dot at its end or in upper case is the same one")
    func spelling() throws {
        let port = try #require(nginx.url("a.bin", .good).port)
        for (pinned, asked) in [("localhost", "LOCALHOST"), ("LocalHost", "localhost"), ("localhost", "local%68ost")] {
            let url = try #require(URL(string: "https://\(asked):\(port)/a.bin"))
            let error = Download(downloader([pinned: [Self.otherKey]]), url).failure()
            #expect(error?.code == .tlsFailed && error?.remedy.contains("pinnedPublicKeys") == true, "\(asked)")
        }
    }

    @Test("A connection that was opened before the key was pinned is not used for a pinned host")
    func connection() throws {
        let downloader = downloader([:])
        #expect(try Download(downloader, nginx.url("a.bin", .good)).end().data == Self.body)
        downloader.configuration.pinnedPublicKeys = ["127.0.0.1": [Self.otherKey]]
        #expect(Download(downloader, nginx.url("a.bin", .good)).failure()?.code == .tlsFailed)
        downloader.configuration.pinnedPublicKeys = ["127.0.0.1": [key]]
        #expect(try Download(downloader, nginx.url("a.bin", .good)).end().data == Self.body)
    }

    @Test("A redirect to a pinned host is held to its key")
    func redirected() throws {
        let target = nginx.url("a.bin", .good)
        let server = try LocalImageServer { _ in .redirect(to: target.absoluteString) }
        #expect(Download(downloader(["127.0.0.1": [Self.otherKey]]), server.url("/a")).failure()?.code == .tlsFailed)
        #expect(try Download(downloader(["127.0.0.1": [key]]), server.url("/a")).end().data == Self.body)
    }
}
