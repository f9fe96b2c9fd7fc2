import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Loads of images as they are stored")
struct StoredOrientationLoadTests {
    private static let size = PixelSize(width: 240, height: 160)
    private static let half = PixelSize(width: 120, height: 80)

    /// A JPEG that lies on its side.
    private static let file = TestImage.jpeg(
        TestImage.quarters(size: size, format: .jpeg),
        with: [TestImage.exifSegment(thumbnail: Data(), orientation: 6)]
    )

    private func request(_ url: URL, stored: Bool) -> ImageRequest {
        var request = ImageRequest(url: url, decodeSize: .contain(PixelSize(width: 120, height: 120)))
        request.appliesOrientation = !stored
        return request
    }

    @Test("Both share the transfer, and have places of their own in memory and on disk")
    func caches() throws {
        let fixture = ManagerFixture(holdsResponses: true)
        let url = fixture.url("a")
        fixture.loader.answer(url, with: Self.file)
        // When the image is loaded as it is stored, upright, and by the default
        let images = EventLog<(Bool, WebImage)>()
        for stored in [true, false] {
            fixture.load(request(url, stored: stored)) { result in
                if let image = try? result.get().image { images.add((stored, image)) }
            }
        }
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        fixture.loader.finish(url)
        // Then each has its pixels, from one transfer
        #expect(images.wait { $0.count == 2 })
        for (stored, image) in images.all {
            #expect(image.pixelSize == (stored ? Self.half : Self.half.transposed) && image.orientation == .right)
            #expect(image.naturalSize == (stored ? Self.size : Self.size.transposed))
        }
        #expect(fixture.loader.requests.count == 1 && fixture.decodes.count == 2)
        // And each is found again
        #expect(EventLog<Int>.poll { fixture.isQuiet && fixture.results.usage.count == 2 })
        for isInMemory in [true, false] {
            if !isInMemory { fixture.manager.cache.removeAllFromMemory() }
            for stored in [true, false] {
                let found = EventLog<WebImage>()
                fixture.load(request(url, stored: stored)) { if let image = try? $0.get().image { found.add(image) } }
                #expect(found.wait { $0.count == 1 })
                #expect(found.all.first?.pixelSize == (stored ? Self.half : Self.half.transposed))
            }
        }
        #expect(fixture.loader.requests.count == 1 && fixture.decodes.count == 2)
        // One that says the default has the place of one that says nothing.
        #expect(ImageKey(request(url, stored: false)) == ImageKey(ImageRequest(url: url)))
    }

    @Test("What all requests share is upright: the ThumbHash, and the image of a serializer", arguments: [true, false])
    func shared(isThumbnail: Bool) async throws {
        let upright = ThumbHash(of: try WebImage(data: Self.file))
        let sizes = EventLog<PixelSize>()
        let fixture = ManagerFixture(
            serializer: CacheSerializer { image, data, _ in
                sizes.add(image.pixelSize)
                return data
            }
        ) { $0.keepsThumbHashes = true }
        let url = fixture.url("a")
        fixture.loader.answer(url, with: Self.file)
        var request = request(url, stored: true)
        if !isThumbnail { request.decodeSize = nil }
        _ = try await fixture.manager.image(for: request)
        #expect(await fixture.polled { fixture.isQuiet })
        #expect(await fixture.manager.cache.thumbHash(for: url) == upright)
        #expect(sizes.all == [Self.size.transposed])
    }

    @Test("A ThumbHash, which is upright, is not shown for an image as it is stored")
    func hash() async throws {
        let fixture = ManagerFixture(hasResults: false) { $0.keepsThumbHashes = true }
        let url = fixture.url("a")
        fixture.loader.answer(url, with: Self.file)
        _ = try await fixture.manager.image(for: url)
        #expect(await fixture.polled { fixture.isQuiet })
        for stored in [true, false] {
            fixture.manager.cache.removeAllFromMemory()
            let (partials, ends) = (EventLog<WebImage>(), EventLog<Int>())
            var request = request(url, stored: stored)
            request.loading = .progressive
            fixture.manager.load(request, on: InlineDispatcher(), partial: { partials.add($0) }) { _ in ends.add(1) }
            #expect(await fixture.polled { ends.all.count == 1 })
            #expect(partials.all.contains { $0.isPreview } == !stored)
        }
    }
}
