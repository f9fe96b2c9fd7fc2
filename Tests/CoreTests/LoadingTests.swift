import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Loading")
struct LoadingTests {
    private let size = PixelSize(width: 64, height: 48)
    private var picture: Data { TestImage.solid(0xFF0000, size: size) }

    @Test(
        "Bytes that are no image fail with an error that names them and are not cached",
        arguments: [
            (Data(), "empty"),
            (Data("<!DOCTYPE html><html>Not found</html>".utf8), "HTML"),
            (Data([1, 2, 3, 4, 5]), "5 bytes"),
            (TestImage.solid(1, size: PixelSize(width: 64, height: 64), format: .jpeg).dropLast(60), "truncated"),
        ]
    )
    func badBytes(data: Data, word: String) async throws {
        let fixture = ManagerFixture()
        let url = fixture.url("a.jpg")
        fixture.loader.answer(url, with: data)
        let error = await thrownError { try await fixture.manager.image(for: url) }
        #expect(error?.code == .badImageData)
        #expect(error?.url == url)
        #expect(error?.reason.contains(word) == true, "\(String(describing: error))")
        // The next load fetches again.
        fixture.loader.answer(url, with: picture)
        _ = try await fixture.manager.response(for: ImageRequest(url: url, rememberedFailure: .ignored))
        #expect(fixture.loader.started.count == 2)
    }

    @Test("With .cachedOnly a miss is an error of its own, and nothing is fetched")
    func fromCacheOnly() {
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("a"), with: picture)
        fixture.load("a", cachePolicy: .cachedOnly)
        #expect(fixture.outcomes.wait { $0.count == 1 })
        #expect(fixture.outcomes.all == [.failure(.notInCache)])
        #expect(fixture.loader.started.isEmpty)
        // When the image has been loaded, it is found, even after memory was emptied
        fixture.load("a")
        #expect(fixture.outcomes.wait { $0.count == 2 })
        fixture.manager.cache.removeAllFromMemory()
        fixture.load("a", cachePolicy: .cachedOnly)
        #expect(fixture.outcomes.wait { $0.count == 3 })
        #expect(fixture.outcomes.all.last == .image(size, .disk))
    }

    @Test("With .reload the image is fetched although it is cached")
    func fromLoaderOnly() {
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("a"), with: picture)
        fixture.load("a")
        #expect(fixture.outcomes.wait { $0.count == 1 })
        fixture.load("a", cachePolicy: .reload)
        #expect(fixture.outcomes.wait { $0.count == 2 })
        #expect(fixture.outcomes.all.last == .image(size, .loader))
        #expect(fixture.loader.started.count == 2)
    }

    @Test(
        "With .writingMemoryOnly, and with no-store from the server, nothing is written to disk",
        arguments: [true, false]
    )
    func notStored(byOption: Bool) {
        let fixture = ManagerFixture()
        let control = byOption ? nil : "private, No-Store"
        var metadata = ResponseMetadata()
        metadata.cacheControl = control
        fixture.loader.answer(fixture.url("a"), with: .success(LoaderResult(data: picture, metadata: metadata)))
        fixture.load("a", cacheAccess: byOption ? .writingMemoryOnly : CacheAccess())
        #expect(fixture.outcomes.wait { $0.count == 1 })
        fixture.manager.cache.removeAllFromMemory()
        fixture.load("a", cachePolicy: .cachedOnly)
        #expect(fixture.outcomes.wait { $0.count == 2 })
        #expect(fixture.outcomes.all.last == .failure(.notInCache))
    }

    @Test("A transformed image is cached under the key of its transformer, the bytes under the URL")
    func transformer() {
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("a"), with: picture)
        fixture.load("a", transformer: ImageTransformer(Crop(width: 10)))
        #expect(fixture.outcomes.wait { $0.count == 1 })
        #expect(fixture.outcomes.all.last == .image(PixelSize(width: 10, height: 48), .loader))
        fixture.load("a", transformer: ImageTransformer(Crop(width: 10)))
        #expect(fixture.outcomes.all.last == .image(PixelSize(width: 10, height: 48), .memory))
        fixture.load("a", transformer: ImageTransformer(Crop(width: 20)))
        #expect(fixture.outcomes.wait { $0.count == 3 })
        #expect(fixture.outcomes.all.last == .image(PixelSize(width: 20, height: 48), .disk))
    }

    @Test("A failing transformer fails the load, and its input is not shown instead")
    func failingTransformer() {
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("a"), with: picture)
        for _ in 0..<2 { fixture.load("a", transformer: ImageTransformer(Crop(width: 1000))) }
        #expect(fixture.outcomes.wait { $0.count == 2 })
        #expect(fixture.outcomes.all == [.failure(.transformFailed), .failure(.transformFailed)])
        fixture.load("a")
        #expect(fixture.outcomes.wait { $0.count == 3 })
        #expect(fixture.outcomes.all.last == .image(size, .disk))
    }

    @Test("A file name with @2x means two pixels per application pixel")
    func scale() async throws {
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("a@2x.png"), with: picture)
        let image = try await fixture.manager.image(for: fixture.url("a@2x.png"))
        #expect(image.scale == 2)
        #expect(image.logicalWidth == 32 && image.logicalHeight == 24)
        #expect(image.pixelSize == size)
    }

    @Test(
        "The scale is that in the name of the cache key or URL, with the sign written as it is or as %40",
        arguments: [
            ("https://example.org/a@2x.png", 2.0), ("https://example.org/a%402x.png", 2), ("https://a.org/b@3x", 3),
            ("https://example.org/a@1.5x.png", 1.5), ("https://example.org/a%401.25x.png", 1.25), ("a@1.5x", 1.5),
            ("a@10x.png", 10), ("a@512x.png", 1), ("a@0.5x.png", 1), ("a@.5x.png", 1), ("a@2.x.png", 1), ("a@x.png", 1),
            ("a@1.2.3x.png", 1), ("a2x.png", 1), ("a%2x.png", 1), ("a%40x.png", 1), ("a@99999999999999999999x.png", 1),
            ("https://example.org/a@3x.jpg?w=1/b.png", 3), ("https://me@2x.example.org/a.png", 1),
            ("https://example.org/a@2x/b.png", 1), ("https://example.org/a@2xl.png", 1),
            ("data:image/png,a@2x.png", 1), ("https://example.org/a.png?x=@2x", 1),
        ]
    )
    func scaleInName(url: String, scale: Double) throws {
        #expect(ImageRequest(url: try #require(URL(string: url))).scale == scale)
        var request = ImageRequest(url: try #require(URL(string: "https://example.org/1")))
        request.cacheKey = url
        #expect(request.scale == scale)
    }

    @Test("With .cachedOnly an image that the app has stored is found, though no loader takes its URL")
    func storedWithoutLoader() async throws {
        let fixture = ManagerFixture()
        let url = try #require(URL(string: "photo-library:17"))
        let fetched = try? await fixture.manager.image(for: ImageRequest(url: url))
        #expect(fetched == nil)
        fixture.manager.cache.store(picture, for: ImageRequest(url: url))
        let image = try await fixture.manager.image(for: ImageRequest(url: url, cachePolicy: .cachedOnly))
        #expect(image.pixelSize == size)
    }

    @Test("Progress handlers get the newest value only")
    func progress() {
        let dispatcher = ManualDispatcher()
        let fixture = ManagerFixture(holdsResponses: true, dispatcher: dispatcher, hasDisk: false)
        let log = EventLog<Int64>()
        let request = ImageRequest(url: fixture.url("a"))
        fixture.load(request, progress: { received, _ in log.add(received) }) { _ in }
        for count in [10, 20, 30] { fixture.loader.send(Data(count: count), for: fixture.url("a"), expected: 100) }
        dispatcher.run()
        #expect(log.all == [30])
        // An unfinished load keeps its manager alive.
        fixture.loader.finish(fixture.url("a"))
        dispatcher.run()
        #expect(fixture.isIdle)
    }

    @Test("A URL without a loader fails with an error that says so")
    func unknownScheme() async {
        let manager = ImageManager(
            dependencies: Pipeline.Dependencies(
                memoryCache: MemoryCache(costLimit: 1000),
                dataCache: nil,
                loaders: LoaderRegistry([]),
                coders: CoderRegistry([]),
                dispatcher: InlineDispatcher(),
                ioQueue: WorkQueue(name: "test", threadCount: 1),
                decodeQueue: WorkQueue(name: "test", threadCount: 1)
            )
        )
        let error = await thrownError {
            try await manager.image(for: URL(string: "gopher://host/a.gif")!)
        }
        #expect(error?.code == .invalidURL)
        #expect(error?.reason.contains("gopher") == true)
    }
}

/// Keeps the leftmost columns of an image and fails when there are fewer.
private struct Crop: ImageTransforming {
    let width: Int

    var key: String { "crop(\(width))" }

    func transform(_ image: WebImage) -> WebImage? {
        let old = image.pixels
        guard width <= old.size.width else { return nil }
        let size = PixelSize(width: width, height: old.size.height)
        let pixels = PixelBuffer(size: size, format: old.format) { memory in
            old.withUnsafeBytes { bytes in
                let row = size.width * old.format.bytesPerPixel
                for y in 0..<size.height {
                    memory[(y * row)..<((y + 1) * row)].copyBytes(from: bytes[(y * old.bytesPerRow)...].prefix(row))
                }
            }
        }
        return pixels.map { image.replacingPixels($0, keepsNaturalSize: false) }
    }
}

@Suite("A decoder that the request brings")
struct RequestDecoderTests {
    @Test("It decodes its formats for this request only, and its images are cached apart")
    func ownDecoder() async throws {
        let fixture = ManagerFixture()
        let url = fixture.url("a")
        fixture.loader.answer(url, with: TestImage.solid(0xFF0000, size: PixelSize(width: 40, height: 30)))
        var request = ImageRequest(url: url)
        request.decoder = SmallDecoder()
        #expect(try await fixture.manager.response(for: request).image.pixelSize == PixelSize(width: 1, height: 1))
        let plain = try await fixture.manager.response(for: ImageRequest(url: url))
        #expect(plain.image.pixelSize == PixelSize(width: 40, height: 30) && plain.source == .disk)
        #expect(try await fixture.manager.response(for: request).source == .memory)
        #expect(fixture.loader.requests.count == 1)
        // The registered decoders take the other formats.
        let jpeg = fixture.url("b")
        fixture.loader.answer(jpeg, with: TestImage.solid(1, size: PixelSize(width: 40, height: 30), format: .jpeg))
        request.url = jpeg
        #expect(try await fixture.manager.response(for: request).image.pixelSize == PixelSize(width: 40, height: 30))
    }
}

/// Decodes every PNG to one grey pixel.
private struct SmallDecoder: ImageDecoding {
    func canDecode(_ format: ImageFormat) -> Bool { format == .png }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        let pixels = PixelBuffer(size: PixelSize(width: 1, height: 1), format: .rgb) {
            $0.initializeMemory(as: UInt8.self, repeating: 128)
        }
        guard let pixels else { throw options.outOfMemory(PixelSize(width: 1, height: 1)) }
        return WebImage(pixels: pixels, format: .png)
    }
}
