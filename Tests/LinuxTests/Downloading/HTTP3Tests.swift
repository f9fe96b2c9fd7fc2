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
        "libcurl has ngtcp2 on Debian testing, and nginx HTTP/3 from Debian 13 on"
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
    private func load(_ url: URL, _ downloader: ImageDownloader) throws -> String {
        let result = try Download(downloader, url).end()
        #expect(result.data == Self.body)
        return result.metrics?.protocolName ?? ""
    }

    @Test("A server with HTTP/3 is asked over QUIC, on one connection")
    func used() throws {
        let downloader = downloader()
        let downloads = (0..<20).map { Download(downloader, nginx.url("\($0).bin", .good)) }
        for download in downloads {
            let result = try download.end()
            #expect(result.data == Self.body && result.metrics?.protocolName == "HTTP/3")
        }
        #expect(EventLog<Int>.poll { nginx.log.count == 20 })
        let quic = nginx.log.filter { $0.hasPrefix("HTTP/3.0 ") }
        #expect(quic.count == 20 && Set(quic.map { $0.split(separator: " ")[1] }).count == 1, "\(nginx.log)")
    }

    @Test("Without usesHTTP3, and for hosts with pinned keys, requests go over TCP")
    func unused() throws {
        let off = downloader { $0.usesHTTP3 = false }
        let pinned = downloader { $0.pinnedPublicKeys["127.0.0.1"] = [] }
        #expect(try load(nginx.url("0.bin", .good), off) == "HTTP/2")
        #expect(Download(pinned, nginx.url("1.bin", .good)).failure()?.code == .tlsFailed)
    }

    @Test("A network that drops UDP costs a short wait for each connection, and nothing is lost")
    func dropped() throws {
        let downloader = downloader()
        let start = ContinuousClock.now
        #expect(try load(nginx.droppedURL("0.bin"), downloader) == "HTTP/2")
        // Without a fallback, the connection takes the 15 s of its limit.
        #expect(ContinuousClock.now - start < .seconds(14))
        #expect(nginx.droppedCount > 0, "QUIC was not tried")
        let downloads = (1..<20).map { Download(downloader, nginx.droppedURL("\($0).bin")) }
        for download in downloads { #expect(try download.end().metrics?.protocolName == "HTTP/2") }
    }

    @Test("A connection survives many cancelled requests")
    func cancels() throws {
        let downloader = downloader { $0.rateLimit = nil }
        for round in 0..<20 {
            let downloads = (0..<20).map { Download(downloader, nginx.url("\($0).bin", .good)) }
            if round % 2 == 0 { downloads[round].events.wait { !$0.isEmpty } }
            for download in downloads { download.cancel() }
        }
        #expect(try load(nginx.url("19.bin", .good), downloader) == "HTTP/3")
    }

    @Test("A proxy is used over TCP")
    func proxied() throws {
        let downloader = downloader { $0.proxy = .fixed(URL(string: "http://127.0.0.1:9")!) }
        #expect(Download(downloader, nginx.url("1.bin", .good)).failure()?.code == .connectionFailed)
    }
}
