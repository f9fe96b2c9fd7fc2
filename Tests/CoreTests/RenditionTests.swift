import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageTesting

@Suite("Renditions: decoded copies on disk at the size at which they were shown")
struct ResultTests {
    private let fixture: ManagerFixture
    private let natural = PixelSize(width: 400, height: 300)
    private let size = DecodeSize.contain(PixelSize(width: 200, height: 200))
    private let shown = PixelSize(width: 200, height: 150)

    /// Holds the answers of the rendition cache while it is closed.
    private let gate: Gate

    init() {
        let gate = Gate()
        self.gate = gate
        fixture = ManagerFixture(
            resultStore: FaultyStore { call, _ in call == "read" ? .waits { gate.wait() } : nil }
        )
    }

    private func answer(_ color: UInt32 = 0x336699, maxAge: Int = 60, etag: String = "\"1\"") {
        var metadata = ResponseMetadata()
        metadata.cacheControl = "max-age=\(maxAge)"
        metadata.etag = etag
        metadata.responseTime = fixture.clock.now
        let data = TestImage.solid(color, size: natural)
        fixture.loader.answer(fixture.url("a"), with: .success(LoaderResult(data: data, metadata: metadata)))
    }

    private func answerNotModified() {
        var metadata = ResponseMetadata()
        metadata.responseTime = fixture.clock.now
        let loaded = LoaderResult(data: Data(), metadata: metadata, isNotModified: true)
        fixture.loader.answer(fixture.url("a"), with: .success(loaded))
    }

    private func answerFailure() {
        let error = ImageError(.connectionFailed, url: nil, reason: "", remedy: "")
        fixture.loader.answer(fixture.url("a"), with: .failure(error))
    }

    private func request(_ change: (inout ImageRequest) -> Void = { _ in }) -> ImageRequest {
        var request = ImageRequest(url: fixture.url("a"), decodeSize: size)
        change(&request)
        return request
    }

    /// Loads with an empty memory cache and waits until the image is stored.
    @discardableResult
    private func load(_ request: ImageRequest? = nil) async throws -> ImageResponse {
        fixture.manager.cache.removeAllFromMemory()
        let response = try await fixture.manager.response(for: request ?? self.request())
        #expect(EventLog<Int>.poll { fixture.isQuiet })
        return response
    }

    private var hasResult: Bool { fixture.results.usage.count > 0 }
    private var resultCount: Int { fixture.results.usage.count }

    private func waitForResult() {
        #expect(EventLog<Int>.poll { hasResult })
    }

    private func removeOriginal() throws {
        try #require(fixture.disk).remove(fixture.url("a").absoluteString)
    }

    @Test("A failing load does not disturb loads that are served from renditions")
    func failureMeanwhile() async throws {
        answer()
        try await load()
        waitForResult()
        try removeOriginal()
        fixture.manager.cache.removeAllFromMemory()
        answerFailure()
        gate.close()
        let outcomes = EventLog<ManagerFixture.Outcome>()
        fixture.load(request()) { outcomes.add(.init($0)) }
        fixture.load(request { $0.cacheAccess.reads = .originals }) { outcomes.add(.init($0)) }
        #expect(outcomes.wait { $0.count == 1 })
        gate.open()
        #expect(outcomes.wait { $0.count == 2 })
        #expect(outcomes.all == [.failure(.connectionFailed), .image(shown, .disk)])
        #expect(EventLog<Int>.poll { fixture.isIdle })
    }

    @Test("An image that is shown again is neither fetched nor decoded from the original, and looks the same")
    func again() async throws {
        answer()
        try await load()
        waitForResult()
        let decodes = fixture.decodes.count
        let response = try await load()
        #expect(response.source == .disk && fixture.decodes.count == decodes && fixture.loader.requests.count == 1)
        #expect(response.image.pixelSize == shown && response.image.naturalSize == natural)
        #expect(response.image.format == .png && !response.image.pixels.hasAlpha)
        #expect(response.image.pixels.withUnsafeBytes { Array($0.prefix(3)) } == [0x33, 0x66, 0x99])
        // The rendition also serves when the original was evicted.
        try removeOriginal()
        #expect(try await load().source == .disk)
        #expect(fixture.decodes.count == decodes)
    }

    @Test("Another size is decoded from the original and stored beside it")
    func otherSize() async throws {
        answer()
        try await load()
        waitForResult()
        let smaller = request { $0.decodeSize = .contain(PixelSize(width: 100, height: 100)) }
        let response = try await load(smaller)
        #expect(response.image.pixelSize == PixelSize(width: 100, height: 75))
        #expect(fixture.loader.requests.count == 1)
        #expect(EventLog<Int>.poll { resultCount == 2 })
    }

    @Test(
        "A rendition keeps its key from version to version",
        arguments: [
            (DecodeSize.contain(PixelSize(width: 200, height: 100)), "contain(200x100) 1.0 "),
            (.cover(PixelSize(width: 200, height: 100)), "cover(200x100) 1.0 "),
            (.stretch(PixelSize(width: 200, height: 100)), "stretch(200x100) 1.0 "),
            (.within(byteCount: 20_000), "within(byteCount: 20000) 1.0 "),
        ]
    )
    func key(size: DecodeSize, variant: String) async throws {
        answer()
        try await load(request { $0.decodeSize = size })
        waitForResult()
        #expect(fixture.results.contains(CacheKey.string(base: fixture.url("a").absoluteString, variant: variant)))
    }

    @Test("A size near that of the original gets no rendition")
    func nearlyOriginal() async throws {
        answer()
        try await load(request { $0.decodeSize = .contain(PixelSize(width: 390, height: 390)) })
        try await load(request { $0.decodeSize = .original })
        #expect(!hasResult)
    }

    @Test("The rendition of an image that has changed is not shown")
    func changed() async throws {
        answer()
        try await load()
        waitForResult()
        fixture.clock.advance(by: .milliseconds(1))
        answer(0xFF0000, etag: "\"2\"")
        _ = try await fixture.manager.response(for: ImageRequest(url: fixture.url("a"), cachePolicy: .reload))
        let response = try await load()
        #expect(response.image.pixels.withUnsafeBytes { $0[0] } == 0xFF)
    }

    @Test(
        "A stale rendition is revalidated with or without its original and, once confirmed, shown without a decode",
        arguments: [true, false]
    )
    func stale(hasOriginal: Bool) async throws {
        answer()
        try await load()
        waitForResult()
        if !hasOriginal { try removeOriginal() }
        fixture.clock.advance(by: .seconds(61))
        answerNotModified()
        let decodes = fixture.decodes.count
        #expect(try await load().source == .revalidated)
        #expect(fixture.decodes.count == decodes)
        #expect(fixture.loader.requests.last?.validators?.etag == "\"1\"")
        // The rendition is fresh again.
        #expect(try await load().source == .disk)
        #expect(fixture.loader.requests.count == 2)
    }

    @Test("A rendition is as fresh as its original, which the server has confirmed")
    func freshness() async throws {
        answer()
        try await load()
        waitForResult()
        fixture.clock.advance(by: .seconds(61))
        answerNotModified()
        #expect(try await load(request { $0.cacheAccess.reads.remove(.renditions) }).source == .revalidated)
        #expect(try await load().source == .disk)
        #expect(try await fixture.manager.response(for: request()).source == .memory)
    }

    @Test("A stale rendition serves when the server is unreachable", arguments: [true, false])
    func staleIfError(hasOriginal: Bool) async throws {
        answer()
        try await load()
        waitForResult()
        if !hasOriginal { try removeOriginal() }
        fixture.clock.advance(by: .seconds(61))
        answerFailure()
        let response = try await load()
        #expect(response.refreshError?.code == .connectionFailed && response.image.pixelSize == shown)
    }

    @Test("A stale rendition that does not decode gives way to the answer of the server", arguments: [true, false])
    func undecodable(isConfirmed: Bool) async throws {
        answer()
        try await load()
        waitForResult()
        try removeOriginal()
        fixture.clock.advance(by: .seconds(61))
        // Given an intact entry whose bytes are not its pixels
        let file = try #require(FileStore().files(below: fixture.results.directory).first)
        let bytes = try Data(contentsOf: URL(filePath: file.path))
        let found = try CacheEntryFile(tail: bytes, size: bytes.count, key: nil, .standard)?.entry(bytes, .standard)
        var entry = try #require(found)
        entry.data = Data([1])
        try CacheEntryFile.encode(entry, .standard).reduce(Data(), +).write(to: URL(filePath: file.path))
        if isConfirmed { answerNotModified() } else { answerFailure() }
        let token = fixture.manager.observe { event in
            if case .fetched = event.kind { answer(etag: "\"2\"") }
        }
        defer { withExtendedLifetime(token) {} }
        guard isConfirmed else {
            let error = await #expect(throws: ImageError.self) { try await load() }
            #expect(error?.code == .connectionFailed)
            return
        }
        #expect(try await load().source == .loader)
        #expect(fixture.loader.requests.count == 3 && fixture.loader.requests.last?.validators == nil)
    }

    @Test("Cache policies can leave out lookups of renditions, renditions and originals")
    func policies() async throws {
        answer()
        try await load(request { $0.cacheAccess.writes = [.memory, .originals] })
        #expect(!hasResult)
        try await load()
        waitForResult()
        let decodes = fixture.decodes.count
        try await load(request { $0.cacheAccess.reads = [.memory, .originals] })
        #expect(fixture.decodes.count == decodes + 1 && fixture.loader.requests.count == 1)
        fixture.results.removeAll()
        try removeOriginal()
        try await load(request { $0.cacheAccess.writes = [.memory, .renditions] })
        #expect(fixture.loader.requests.count == 2 && fixture.disk?.contains(fixture.url("a").absoluteString) == false)
        try await load(request { $0.cacheAccess.reads = [] })
        #expect(fixture.loader.requests.count == 3)
        // An image that is not kept in memory is not found there.
        try await load(request { $0.cacheAccess.writes = .originals })
        #expect(fixture.manager.cachedImage(for: request()) == nil)
    }

    @Test("A load that writes only renditions writes one, which serves without an original", arguments: [false, true])
    func renditionOnly(joinsOther: Bool) async throws {
        answer()
        let writing = request { $0.cacheAccess = CacheAccess(writes: .renditions, awaitsWrites: true) }
        if joinsOther {
            // Given a load in flight that writes nothing
            gate.close()
            let outcomes = EventLog<ManagerFixture.Outcome>()
            fixture.load(request { $0.cacheAccess.writes = [] }) { outcomes.add(.init($0)) }
            fixture.load(writing) { outcomes.add(.init($0)) }
            gate.open()
            #expect(outcomes.wait { $0.count == 2 })
        } else {
            try await load(writing)
        }
        #expect(resultCount == 1 && fixture.disk?.usage.count == 0)
        #expect(fixture.manager.cachedImage(for: request()) == nil)
        let decodes = fixture.decodes.count
        #expect(try await load(request { $0.cacheAccess.writes = [] }).source == .disk)
        #expect(fixture.decodes.count == decodes && fixture.loader.requests.count == 1)
    }

    @Test("A rendition of a response that must not be stored is not written")
    func noStoreRendition() async throws {
        var metadata = ResponseMetadata()
        metadata.cacheControl = "no-store"
        let data = TestImage.solid(1, size: natural)
        fixture.loader.answer(fixture.url("a"), with: .success(LoaderResult(data: data, metadata: metadata)))
        try await load(request { $0.cacheAccess.writes = .renditions })
        try await load()
        #expect(!hasResult)
    }

    @Test("A damaged rendition is a miss")
    func damaged() async throws {
        answer()
        try await load()
        waitForResult()
        let files = FileStore().files(below: fixture.results.directory)
        for file in files { try Data(count: 100).write(to: URL(filePath: file.path)) }
        let decodes = fixture.decodes.count
        #expect(try await load().image.pixelSize == shown)
        #expect(fixture.decodes.count == decodes + 1 && fixture.loader.requests.count == 1)
    }

    @Test("A request for another size of an image in flight shares the fetch")
    func shared() {
        let fixture = ManagerFixture(holdsResponses: true)
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(1, size: natural))
        for width in [50, 60, 70] { fixture.load("a", size: .contain(PixelSize(width: width, height: width))) }
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        fixture.loader.finish(fixture.url("a"))
        #expect(fixture.outcomes.wait { $0.count == 3 })
        #expect(fixture.loader.requests.count == 1)
    }

    @Test(
        "Pixels are restored exactly, or nearly so where the source was lossy",
        arguments: [(ImageFormat.png, 90, 0.0), (.jpeg, 90, 0), (.png, 300, 0), (.jpeg, 300, 3)]
    )
    func coder(format: ImageFormat, side: Int, tolerance: Double) throws {
        for hasAlpha in [false, true] {
            let layout = hasAlpha ? PixelBuffer.Format.rgbaPremultiplied : .rgb
            let size = PixelSize(width: side, height: side - 1)
            let pixels = try #require(
                PixelBuffer(size: size, format: layout) { memory in
                    for index in memory.indices {
                        let (x, y) = (index / layout.bytesPerPixel % side, index / layout.bytesPerPixel / side)
                        memory[index] = UInt8(truncatingIfNeeded: (x + y) / 3)
                    }
                }
            )
            let image = WebImage(pixels: pixels, format: format)
            let (data, encoding) = try #require(RenditionCoder().encode(image, hasRoom: false))
            let info = RenditionInfo(image, encoding: encoding, source: .distantPast)
            let decoded = try #require(RenditionCoder().decode(data, info))
            let difference = pixels.withUnsafeBytes { old in
                decoded.withUnsafeBytes { new in zip(old, new).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) } }
            }
            #expect(Double(difference) / Double(pixels.byteCount) <= (hasAlpha ? 0 : tolerance))
            // With enough room more renditions are stored uncompressed.
            #expect(RenditionCoder().encode(image, hasRoom: true)?.1 == (pixels.byteCount <= 196_608 ? .raw : encoding))
            // A truncated rendition is rejected.
            #expect(RenditionCoder().decode(data.prefix(data.count / 3), info) == nil || encoding == .jpeg)
            var larger = info
            larger.size = PixelSize(width: side, height: side)
            #expect(RenditionCoder().decode(data, larger) == nil)
        }
    }
}
