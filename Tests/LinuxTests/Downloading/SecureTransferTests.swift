import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("TLS and HTTP/2, with nginx")
struct SecureTransferTests {
    private static let body = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

    private let nginx: Nginx

    init() throws {
        nginx = try Nginx(files: Dictionary(uniqueKeysWithValues: (0..<60).map { ("\($0).bin", Self.body) }))
    }

    private func downloader(
        trusts: Bool = true,
        _ change: (inout ImageDownloader.Configuration) -> Void = { _ in }
    ) -> ImageDownloader {
        ImageDownloader {
            if trusts { $0.certificateAuthorityFile = nginx.authorityFile }
            change(&$0)
        }
    }

    @Test("Sixty images load over one HTTP/2 connection, six at a time")
    func http2() throws {
        let downloader = downloader()
        let downloads = (0..<60).map { Download(downloader, nginx.url("\($0).bin", .good)) }
        for download in downloads {
            let loaded = try download.end()
            #expect(loaded.data == Self.body && loaded.metrics?.protocolName == "HTTP/2")
        }
        #expect(EventLog<Int>.poll { nginx.log.count == 60 })
        #expect(nginx.log.allSatisfy { $0.hasPrefix("HTTP/2.0 ") })
        let connections = Set(nginx.log.map { $0.split(separator: " ")[1] })
        #expect(connections.count == 1, "\(connections)")
    }

    @Test("A load uses the connection that was opened before it, without a request")
    func preconnect() throws {
        let downloader = downloader {
            $0.requestModifier = RequestModifier(key: "not 0") { $0.url.path() == "/0.bin" ? nil : $0 }
        }
        var configuration = ImageManager.Configuration()
        configuration.downloader = downloader
        let manager = ImageManager(configuration: configuration)
        manager.preconnect(to: nginx.url("0.bin", .good))
        // A later transfer has ended, so that the early one has begun.
        _ = try Download(downloader, nginx.url("2.bin")).end()
        #expect(EventLog<Int>.poll { downloader.transferCounts == (0, 0) })
        let metrics = try Download(downloader, nginx.url("1.bin", .good)).end().metrics
        #expect(metrics?.isReusedConnection == true && metrics?.protocolName == "HTTP/2")
        #expect(EventLog<Int>.poll { nginx.log.count == 2 })

        configuration.shouldLoad = { _ in false }
        configuration.downloader = self.downloader()
        ImageManager(configuration: configuration).preconnect(to: nginx.url("0.bin", .good))
        let other = try Download(configuration.downloader, nginx.url("1.bin", .good)).end().metrics
        #expect(other?.isReusedConnection == false)
    }

    @Test("Connecting early closes no connection that the server shares with one request at a time")
    func preconnectWithHTTP1() throws {
        let downloader = downloader()
        #expect(try Download(downloader, nginx.url("0.bin")).end().metrics?.isReusedConnection == false)
        var request = LoaderRequest(url: nginx.url("1.bin"))
        request.connectsOnly = true
        _ = downloader.load(request) { _ in }
        #expect(try Download(downloader, nginx.url("2.bin")).end().metrics?.isReusedConnection == true)
    }

    @Test("Cleartext transfers use HTTP/1.1 on at most six connections")
    func cleartext() throws {
        let downloader = downloader()
        let downloads = (0..<60).map { Download(downloader, nginx.url("\($0).bin")) }
        for download in downloads { #expect(try download.end().data == Self.body) }
        #expect(EventLog<Int>.poll { nginx.log.count == 60 })
        #expect(nginx.log.allSatisfy { $0.hasPrefix("HTTP/1.1 ") })
        #expect(Set(nginx.log.map { $0.split(separator: " ")[1] }).count <= 6)
    }

    @Test(
        "A certificate that is for another name, expired or self-signed is refused with an error that says so",
        arguments: [Nginx.Certificate.otherName, .expired, .selfSigned]
    )
    func refused(certificate: Nginx.Certificate) {
        let error = Download(downloader(), nginx.url("0.bin", certificate)).failure()
        #expect(error?.code == .tlsFailed, "\(String(describing: error))")
        #expect(error?.remedy.contains("certificate") == true)
        #expect(nginx.log.isEmpty)
    }

    @Test("An unknown certificate authority is refused unless its file is configured")
    func unknownAuthority() throws {
        #expect(Download(downloader(trusts: false), nginx.url("0.bin", .good)).failure()?.code == .tlsFailed)
        #expect(try Download(downloader(), nginx.url("0.bin", .good)).end().data == Self.body)
    }

    @Test("A request that allows invalid certificates does not open a connection for the next request")
    func invalidCertificates() throws {
        let downloader = downloader()
        let url = nginx.url("0.bin", .selfSigned)
        #expect(try Download(downloader, url) { $0.allowsInvalidCertificates = true }.end().data == Self.body)
        #expect(Download(downloader, url).failure()?.code == .tlsFailed)
    }

    @Test("A server that asks for a client certificate gets the configured one")
    func clientCertificate() throws {
        let (file, key) = nginx.clientCertificate
        let known = downloader { $0.clientCertificate = ImageDownloader.ClientCertificate(file: file, keyFile: key) }
        #expect(try Download(known, nginx.securedURL("0.bin")).end().data == Self.body)
        #expect(Download(downloader(), nginx.securedURL("0.bin")).failure()?.httpStatus == 400)
    }

    @Test("A host with Strict-Transport-Security is not contacted in cleartext again", arguments: [false, true])
    func strictTransportSecurity(hasCookies: Bool) throws {
        let downloader = downloader()
        func load(_ scheme: String) throws -> Data {
            let url = nginx.strictURL("0.bin", scheme: scheme)
            return try Download(downloader, url) { $0.handlesCookies = hasCookies }.end().data
        }
        #expect(throws: ImageError.self) { try load("http") }
        #expect(try load("https") == Self.body)
        #expect(try load("http") == Self.body)
    }

    @Test("An interrupted transfer is resumed over HTTP/2")
    func resumed() throws {
        let downloader = downloader()
        let first = Download(downloader, nginx.url("slow/0.bin", .good), wantsData: true)
        first.events.wait { events in
            events.contains { if case .progress(let received, _) = $0 { received > 0 } else { false } }
        }
        first.cancel()
        #expect(EventLog<Int>.poll { downloader.transferCounts == (0, 0) })
        let loaded = try Download(downloader, nginx.url("slow/0.bin", .good)).end()
        #expect(loaded.data == Self.body)
        guard case .resumed = loaded.metrics?.cacheDecision else {
            Issue.record("\(String(describing: loaded.metrics?.cacheDecision))")
            return
        }
    }

    @Test("An HTTP/2 connection survives many cancelled requests")
    func cancels() throws {
        let downloader = downloader { $0.rateLimit = nil }
        for round in 0..<20 {
            let downloads = (0..<60).map { Download(downloader, nginx.url("\($0).bin", .good)) }
            if round % 2 == 0 { downloads[round].events.wait { !$0.isEmpty } }
            for download in downloads { download.cancel() }
        }
        #expect(try Download(downloader, nginx.url("59.bin", .good)).end().data == Self.body)
        #expect(EventLog<Int>.poll { downloader.transferCounts == (0, 0) })
    }
}
