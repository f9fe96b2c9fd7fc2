import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("The quality of images on real connections")
struct QualityTransferTests {
    /// An image that is not compressed, so that its file is as long as its pixels.
    private static let file = TestImage.make(size: PixelSize(width: 160, height: 120), format: .bmp) { x, y in
        UInt32(x * 77 ^ y * 1013) & 0xFFFFFF
    }

    @Test("A server that limits the rate gets requests for the lowest quality, and one that does not for the highest")
    func rateLimit() async throws {
        // Given a server that sends 57,600 bytes in 80 pieces, with a pause after each
        let isLimited = Mutex(true)
        let limits: @Sendable () -> Bool = { isLimited.withLock { $0 } }
        let server = try LocalImageServer { _ in
            var response = ServerResponse.ok(Self.file, contentType: "image/bmp")
            if limits() { response.faults.drip = (bytes: 720, every: .milliseconds(16)) }
            return response
        }
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.memoryCacheLimit = 0
        configuration.downloader = ImageDownloader()
        // A speed is forgotten after five minutes, for which other tests may hold this one up.
        let clock = ManualClock()
        configuration.clock = clock
        let manager = ImageManager(configuration: configuration)
        let urls = ["/low", "/medium", "/high"].map { server.url($0) }
        let variants = ImageVariants(url: urls[0], qualities: urls)
        // When nothing is known of it, the best is loaded
        #expect(manager.downloadSpeed == nil)
        #expect(try await manager.response(for: variants).url == urls[2])
        // Then at most 45,000 bytes a second have arrived
        let slow = try #require(manager.downloadSpeed)
        #expect(slow > 1000 && slow < 46_000, "\(slow)")
        #expect(try await manager.response(for: variants).url == urls[0])
        // When the limit is gone, as much as is needed to know it
        isLimited.withLock { $0 = false }
        clock.advance(by: .seconds(290))
        for number in 0..<200 where manager.downloadSpeed ?? 0 < 600_000 {
            _ = try await manager.response(for: server.url("/fast/\(number)"))
        }
        #expect(try await manager.response(for: variants).url == urls[2], "\(manager.downloadSpeed ?? 0)")
    }
}
