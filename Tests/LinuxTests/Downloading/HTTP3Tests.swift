import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite(
    "HTTP/3, with nginx",
    .enabled(
        if: ImageDownloader.supportsHTTP3 && Nginx.supportsHTTP3,
        "libcurl and nginx have HTTP/3 from Debian 13 on"
    )
)
struct HTTP3Tests {
    private static let body = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

    private let nginx: Nginx

    init() throws {
        nginx = try Nginx(files: Dictionary(uniqueKeysWithValues: (0..<20).map { ("\($0).bin", Self.body) }))
    }

    private func downloader(_ change: (inout ImageDownloader.Configuration) -> Void = { _ in }) -> ImageDownloader {
        ImageDownloader {
            $0.certificateAuthorityFile = nginx.authorityFile
            $0.proxy = .none
            $0.usesHTTP3 = true
            change(&$0)
        }
    }

    /// The protocol of a load, whose body has to be right.
    private func load(
        _ url: URL,
        _ downloader: ImageDownloader,
        _ change: (inout NetworkOptions) -> Void = { _ in }
    ) throws -> String {
        let result = try Download(downloader, url, change).end()
        #expect(result.data == Self.body)
        return result.metrics?.protocolName ?? ""
    }

    @Test(
        "A server that offers HTTP/3 is asked over QUIC from the second request on, on one connection",
        .enabled(if: ImageDownloader.Configuration().usesHTTP3, "The QUIC of OpenSSL stalls, so it is not the default")
    )
    func offered() throws {
        let downloader = downloader()
        #expect(try load(nginx.url("0.bin", .good), downloader) == "HTTP/2")
        #expect(try load(nginx.url("1.bin", .good), downloader) == "HTTP/3")
        let downloads = (2..<20).map { Download(downloader, nginx.url("\($0).bin", .good)) }
        for download in downloads {
            let result = try download.end()
            #expect(result.data == Self.body && result.metrics?.protocolName == "HTTP/3")
        }
        #expect(EventLog<Int>.poll { nginx.log.count == 20 })
        let quic = nginx.log.filter { $0.hasPrefix("HTTP/3.0 ") }
        #expect(quic.count == 19 && Set(quic.map { $0.split(separator: " ")[1] }).count == 1, "\(nginx.log)")
    }

    @Test("Without usesHTTP3, and for requests that allow invalid certificates, offers are ignored")
    func ignored() throws {
        let off = downloader { $0.usesHTTP3 = false }
        let on = downloader()
        for name in ["0.bin", "1.bin", "2.bin"] {
            #expect(try load(nginx.url(name, .good), off) == "HTTP/2")
            #expect(try load(nginx.url(name, .good), on) { $0.allowsInvalidCertificates = true } == "HTTP/2")
        }
        // The offer that came over an unverified connection is not remembered.
        #expect(try load(nginx.url("3.bin", .good), on) == "HTTP/2")
    }

    @Test("The list of servers is kept in a file and read by the next downloader")
    func kept() throws {
        let folder = TemporaryDirectory()
        let file = "\(folder.path)/below/alt-svc.txt"
        #expect(try load(nginx.url("0.bin", .good), downloader { $0.alternativeServicesFile = file }) == "HTTP/2")
        #expect(EventLog<Int>.poll { FileManager.default.fileExists(atPath: file) })
        #expect(try load(nginx.url("1.bin", .good), downloader { $0.alternativeServicesFile = file }) == "HTTP/3")
    }

    @Test("A network that drops UDP costs a short wait once, and nothing is lost")
    func dropped() throws {
        let downloader = downloader()
        #expect(try load(nginx.droppedURL("0.bin"), downloader) == "HTTP/2")
        let start = ContinuousClock.now
        #expect(try load(nginx.droppedURL("1.bin"), downloader) == "HTTP/2")
        let wait = ContinuousClock.now - start
        #expect(nginx.droppedCount > 0, "QUIC was not tried")
        #expect(wait > .milliseconds(400) && wait < .seconds(5), "\(wait)")
        let downloads = (2..<20).map { Download(downloader, nginx.droppedURL("\($0).bin")) }
        for download in downloads { #expect(try download.end().metrics?.protocolName == "HTTP/2") }
        #expect(nginx.droppedCount == 0, "QUIC was tried again")
    }

    @Test("While one request tries the endpoint, the others are not kept waiting")
    func others() throws {
        let downloader = downloader()
        #expect(try load(nginx.droppedURL("0.bin"), downloader) == "HTTP/2")
        let trial = Download(downloader, nginx.droppedURL("1.bin"))
        let others = (2..<6).map { Download(downloader, nginx.droppedURL("\($0).bin")) }
        for other in others { #expect(try other.end().data == Self.body) }
        #expect(trial.results.isEmpty, "the others waited for the trial")
        #expect(try trial.end().data == Self.body)
    }

    @Test("A cancelled trial leaves the endpoint to the next request")
    func cancelled() throws {
        let downloader = downloader()
        #expect(try load(nginx.url("0.bin", .good), downloader) == "HTTP/2")
        for _ in 0..<5 {
            let trial = Download(downloader, nginx.url("1.bin", .good))
            trial.cancel()
            #expect(EventLog<Int>.poll { downloader.transferCounts == (0, 0) })
        }
        #expect(try load(nginx.url("2.bin", .good), downloader) == "HTTP/3")
    }

    @Test(
        "A connection survives many cancelled requests",
        .enabled(if: ImageDownloader.Configuration().usesHTTP3, "The QUIC of OpenSSL stalls, so it is not the default")
    )
    func cancels() throws {
        let downloader = downloader { $0.rateLimit = nil }
        #expect(try load(nginx.url("0.bin", .good), downloader) == "HTTP/2")
        for round in 0..<20 {
            let downloads = (0..<20).map { Download(downloader, nginx.url("\($0).bin", .good)) }
            if round % 2 == 0 { downloads[round].events.wait { !$0.isEmpty } }
            for download in downloads { download.cancel() }
        }
        #expect(try load(nginx.url("19.bin", .good), downloader) == "HTTP/3")
    }

    @Test("A host keeps HTTP/2 where a proxy is set")
    func proxied() throws {
        let proxy = URL(string: "http://127.0.0.1:9")!
        let downloader = downloader()
        #expect(try load(nginx.url("0.bin", .good), downloader) == "HTTP/2")
        downloader.configuration.proxy = .fixed(proxy)
        #expect(Download(downloader, nginx.url("1.bin", .good)).failure()?.code == .connectionFailed)
    }
}
