import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Serializers, which choose the file that is kept of an image")
struct SerializerTests {
    private static let size = PixelSize(width: 120, height: 90)
    private static let small = DecodeSize.contain(PixelSize(width: 30, height: 30))
    private let images = EventLog<WebImage>()

    /// A manager that keeps WebP files.
    private func fixture(dispatcher: any CallbackDispatching = InlineDispatcher()) -> ManagerFixture {
        ManagerFixture(
            dispatcher: dispatcher,
            serializer: CacheSerializer { [images] image, _, _ in
                images.add(image)
                return try? image.data(as: .webp)
            }
        ) { $0.coders = .builtIn(adding: [], encoders: []) }
    }

    private func kept(_ fixture: ManagerFixture, _ url: URL) async throws -> WebImage {
        let data = try #require(await fixture.manager.cache.data(for: url))
        #expect(ImageFormat(sniffing: data) == .webp)
        return try CoderRegistry.builtIn.decode(data)
    }

    @Test("A load of a thumbnail keeps the whole image, and awaits that if it awaits writes", arguments: [true, false])
    func thumbnails(awaitsWrites: Bool) async throws {
        let fixture = fixture()
        let url = fixture.url("a")
        fixture.loader.answer(url, with: TestImage.quarters(size: Self.size))
        var request = ImageRequest(url: url, decodeSize: Self.small)
        if awaitsWrites { request.cacheAccess = .awaitingWrites }
        #expect(try await fixture.manager.image(for: request).pixelSize.width == 30)
        if !awaitsWrites { #expect(await fixture.polled { fixture.isQuiet }) }
        #expect(fixture.disk?.usage.count == 1)
        #expect(try await kept(fixture, url).pixelSize == Self.size)
        #expect(images.all.map(\.pixelSize) == [Self.size])
        // The rendition is of what is on disk.
        fixture.manager.cache.removeAllFromMemory()
        #expect(await fixture.polled { fixture.isQuiet })
        let again = try await fixture.manager.response(for: request)
        #expect(again.source == .disk && again.image.naturalSize == Self.size)
    }

    @Test("An image that its decoder never makes whole is kept as it is, and two sizes that await that end")
    func neverWhole() async throws {
        struct PreviewCoder: ImageDecoding {
            func canDecode(_ format: ImageFormat) -> Bool { format == .png }
            func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
                let image = try CoderRegistry.builtIn.decode(data)
                return WebImage(pixels: image.pixels, naturalSize: PixelSize(width: 240, height: 180))
            }
        }
        let fixture = ManagerFixture(
            holdsResponses: true,
            serializer: CacheSerializer { image, _, _ in try? image.data(as: .webp) }
        ) { $0.coders = .builtIn(adding: [PreviewCoder()], encoders: []) }
        let (url, ended) = (fixture.url("a"), EventLog<Bool>())
        fixture.loader.answer(url, with: TestImage.quarters(size: Self.size))
        for size in [DecodeSize.original, Self.small] {
            var request = ImageRequest(url: url, decodeSize: size)
            request.cacheAccess = .awaitingWrites
            fixture.load(request) { if case .success = $0 { ended.add(true) } else { ended.add(false) } }
        }
        #expect(await fixture.polled { fixture.loader.started == [url] })
        fixture.loader.finish(url)
        #expect(await fixture.polled { ended.all == [true, true] })
        #expect(try await kept(fixture, url).pixelSize == Self.size)
    }

    @Test("A reload leaves no size of the version before")
    func reloaded() async throws {
        let fixture = fixture()
        let url = fixture.url("a")
        @Sendable func request(_ width: Int, _ policy: ImageRequest.CachePolicy = .standard) -> ImageRequest {
            ImageRequest(
                url: url,
                cachePolicy: policy,
                decodeSize: .contain(PixelSize(width: width, height: width))
            )
        }
        fixture.loader.answer(url, with: TestImage.solid(0x111111, size: Self.size))
        _ = try await fixture.manager.image(for: request(30))
        #expect(await fixture.polled { fixture.isQuiet })
        // When a new version is loaded, and another size before that is on disk
        fixture.loader.answer(url, with: TestImage.solid(0x999999, size: Self.size))
        let (manager, arrivals, others) = (fixture.manager, EventLog<Int>(), EventLog<WebImage>())
        let reading = fixture.manager.observe { event in
            guard case .fetched = event.kind else { return }
            arrivals.add(1)
            // The other size may be too late for the version before, and be fetched.
            guard arrivals.all.count == 1 else { return }
            manager.load(request(60), on: InlineDispatcher()) {
                if case .success(let response) = $0 { others.add(response.image) }
            }
        }
        _ = try await fixture.manager.image(for: request(30, .reload))
        #expect(await fixture.polled { fixture.isQuiet && others.all.count == 1 })
        // Then it is gone once the version is kept
        for width in [30, 60, 120] {
            let image = try await fixture.manager.image(for: request(width))
            #expect(image.pixels.withUnsafeBytes { $0[0] } == 0x99, "\(width)")
        }
        withExtendedLifetime(reading) {}
    }

    @Test("A reload of a thumbnail stays in memory")
    func reloadedThumbnail() async throws {
        let fixture = fixture()
        let url = fixture.url("a")
        fixture.loader.answer(url, with: TestImage.quarters(size: Self.size))
        let request = ImageRequest(url: url, cachePolicy: .reload, decodeSize: Self.small)
        let image = try await fixture.manager.image(for: request)
        #expect(await fixture.polled { fixture.isQuiet })
        #expect(fixture.manager.cachedImage(for: ImageRequest(url: url, decodeSize: Self.small)) == image)
    }

    @Test("What a serializer does not keep of an image leaves its rendition")
    func nothing() async throws {
        let fixture = ManagerFixture(serializer: CacheSerializer { _, _, _ in nil }) {
            $0.coders = .builtIn(adding: [], encoders: [])
        }
        let url = fixture.url("a")
        fixture.loader.answer(url, with: TestImage.quarters(size: Self.size))
        for source in [LoadSource.loader, .disk] {
            let response = try await fixture.manager.response(for: ImageRequest(url: url, decodeSize: Self.small))
            #expect(response.source == source)
            #expect(await fixture.polled { fixture.isQuiet })
            fixture.manager.cache.removeAllFromMemory()
        }
        #expect(fixture.disk?.usage.count == 0 && fixture.loader.requests.count == 1)
    }

    @Test("A load of a still image keeps the animation")
    func stillImages() async throws {
        let fixture = fixture()
        let url = fixture.url("a")
        fixture.loader.answer(url, with: TestImage.animation([0xFF0000, 0x00FF00, 0x0000FF], size: Self.size))
        var request = ImageRequest(url: url)
        request.isFirstFrameOnly = true
        #expect(try await fixture.manager.image(for: request).animation == nil)
        #expect(await fixture.polled { fixture.isQuiet })
        #expect(try await kept(fixture, url).frameCount == 3)
    }

    @Test("An image that was prefetched to the disk is whole")
    func prefetching() async throws {
        let fixture = fixture(dispatcher: MainQueueDispatcher())
        let url = fixture.url("a")
        fixture.loader.answer(url, with: TestImage.quarters(size: Self.size))
        let task = ImagePrefetcher(manager: fixture.manager).prefetch([url], to: .disk)
        #expect(await eventually { task.isFinished })
        #expect(await fixture.polled { fixture.isQuiet })
        #expect(try await kept(fixture, url).pixelSize == Self.size)
    }

    @Test("A load of the whole image serves the serializer with what it shows")
    func wholeImages() async throws {
        let fixture = fixture()
        let url = fixture.url("a")
        fixture.loader.answer(url, with: TestImage.quarters(size: Self.size))
        let shown = try await fixture.manager.image(for: url)
        #expect(await fixture.polled { fixture.isQuiet })
        #expect(images.all == [shown])
    }
}
