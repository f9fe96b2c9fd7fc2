import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Loading animated images")
struct AnimatedLoadTests {
    private let fixture = ManagerFixture()

    private func load(_ size: DecodeSize = .original, isFirstFrameOnly: Bool = false) async throws -> ImageResponse {
        var request = ImageRequest(url: fixture.url("ball.gif"), decodeSize: size)
        request.isFirstFrameOnly = isFirstFrameOnly
        return try await fixture.manager.response(for: request)
    }

    init() {
        fixture.loader.answer(fixture.url("ball.gif"), with: ShippedImage.data("bouncing-ball.gif"))
    }

    @Test("A request gets the animation or only its first frame, and the caches keep the two apart")
    func firstFrameOnly() async throws {
        for _ in 0..<2 {
            let (animated, still) = (try await load().image, try await load(isFirstFrameOnly: true).image)
            #expect(animated.frameCount > 1 && still.frameCount == 1)
            #expect(still.pixels.withUnsafeBytes { Array($0) } == animated.pixels.withUnsafeBytes { Array($0) })
        }
        #expect(fixture.loader.requests.count == 1 && fixture.decodes.count == 2)
    }

    @Test("A small animation is still animated when it comes from disk")
    func fromDisk() async throws {
        let size = DecodeSize.contain(PixelSize(width: 24, height: 24))
        let first = try await load(size).image
        #expect(EventLog<Int>.poll { fixture.isQuiet })
        fixture.manager.cache.removeAllFromMemory()
        let response = try await load(size)
        #expect(response.source == .disk && response.image.frameCount == first.frameCount)
        #expect(response.image.animation?.size == first.pixelSize)
        #expect(fixture.results.usage.count == 0)
    }

    @Test("A format hint and the pixel format are part of the memory-cache key")
    func keys() async throws {
        var request = ImageRequest(url: fixture.url("ball.gif"))
        request.pixelFormat = .rgbaPremultiplied
        let withAlpha = try await fixture.manager.response(for: request).image
        request.pixelFormat = .rgb
        let without = try await fixture.manager.response(for: request).image
        #expect(withAlpha.pixels.hasAlpha && !without.pixels.hasAlpha)
        request.formatHint = .icns
        #expect(fixture.manager.cachedImage(for: request) == nil)
    }
}
