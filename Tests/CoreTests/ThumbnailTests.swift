import Foundation
import TestSupport
import Testing
import WebImageLinux
import WebImageTesting

@testable import WebImageCore

/// The thumbnails are cyan where the images are red.
@Suite("Thumbnails before their images")
struct ThumbnailTests {
    private let size = PixelSize(width: 320, height: 240)
    private let file: Data
    private let partials = EventLog<WebImage>()

    init() {
        let thumbnail = TestImage.solid(0x00FFFF, size: PixelSize(width: 64, height: 48), format: .jpeg)
        let image = TestImage.solid(0xFF0000, size: size, format: .jpeg)
        file = TestImage.jpeg(image, with: [TestImage.exifSegment(thumbnail: thumbnail)])
    }

    /// One thread decodes, so that thumbnails and images come in the order in which they are submitted.
    private func fixture(holdsResponses: Bool = false, hasDisk: Bool = false) -> ManagerFixture {
        ManagerFixture(holdsResponses: holdsResponses, hasDisk: hasDisk, hasResults: false) {
            $0.coders = .builtIn
            $0.decodeQueue = WorkQueue(name: "test-decode", threadCount: 1)
            $0.keepsThumbHashes = true
        }
    }

    @discardableResult
    private func load(_ request: ImageRequest, in fixture: ManagerFixture) -> ImageTask {
        var request = request
        request.progressiveOptions.interval = .zero
        return fixture.load(request, partial: { partials.add($0) }) { fixture.outcomes.add(.init($0)) }
    }

    private var isCyan: [Bool] { partials.all.map { $0.firstChannel < 64 } }

    @Test("The thumbnail is shown when the head of the file has arrived, at the size of the image")
    func arriving() throws {
        let fixture = fixture(holdsResponses: true)
        let url = fixture.url("a")
        fixture.loader.answer(url, with: file)
        load(ImageRequest(url: url, loading: .progressive), in: fixture)
        let head = TestImage.headLength(of: file)
        fixture.loader.send(file.prefix(head), for: url)
        #expect(partials.wait { $0.count == 1 })
        #expect(isCyan == [true])
        let thumbnail = try #require(partials.all.first)
        #expect(thumbnail.isPartial && thumbnail.pixelSize == size && thumbnail.naturalSize == size)
        #expect(fixture.outcomes.all.isEmpty)
        // When the rest arrives, the image takes its place and is cached
        fixture.loader.send(file.dropFirst(head), for: url)
        fixture.loader.finish(url)
        #expect(fixture.outcomes.wait { $0 == [.image(size, .loader)] })
        #expect(fixture.manager.cachedImage(for: ImageRequest(url: url))?.firstChannel ?? 0 > 192)
    }

    @Test("It is shown before a body that has arrived at once is decoded", arguments: [false, true])
    func whole(isChunk: Bool) {
        // Given a loader that sends all bytes in one piece, or none before the end
        let fixture = fixture(holdsResponses: true)
        let url = fixture.url("a")
        let long = file + Data(count: 1 << 17)
        fixture.loader.answer(url, with: long)
        load(ImageRequest(url: url, loading: .progressive), in: fixture)
        if isChunk {
            fixture.loader.send(long, for: url)
            #expect(partials.wait { !$0.isEmpty })
        }
        fixture.loader.finish(url)
        #expect(fixture.outcomes.wait { $0 == [.image(size, .loader)] })
        #expect(isCyan.first == true && isCyan.filter { $0 }.count == 1)
    }

    @Test("It is shown before a file of this machine is decoded")
    func local() throws {
        let folder = TemporaryDirectory()
        let url = URL(filePath: "\(folder.path)/a.jpg")
        try file.write(to: url)
        let files = LocalLoader.files(queue: WorkQueue(name: "test-files", threadCount: 1), maximumByteCount: 1 << 20)
        let fixture = ManagerFixture(hasDisk: false, hasResults: false) {
            $0.coders = .builtIn
            $0.loaders = LoaderRegistry([files])
            $0.decodeQueue = WorkQueue(name: "test-decode", threadCount: 1)
        }
        load(ImageRequest(url: url, loading: .progressive), in: fixture)
        #expect(fixture.outcomes.wait { $0 == [.image(size, .loader)] })
        #expect(isCyan == [true])
    }

    @Test("It is shown before an original on disk is decoded, in the place of its ThumbHash")
    func disk() {
        let fixture = fixture(hasDisk: true)
        let url = fixture.url("a")
        fixture.loader.answer(url, with: file)
        fixture.load("a")
        #expect(fixture.outcomes.wait { $0.count == 1 } && EventLog<Int>.poll { fixture.isQuiet })
        fixture.memory.removeAll()
        load(ImageRequest(url: url, loading: .progressive), in: fixture)
        #expect(fixture.outcomes.wait { $0.count == 2 })
        #expect(fixture.outcomes.all.last == .image(size, .disk))
        #expect(isCyan == [false, true])
        #expect(partials.all.map(\.isPreview) == [true, false])
    }

    @Test("Without progressive loading it is not shown")
    func complete() {
        let fixture = fixture()
        fixture.loader.answer(fixture.url("a"), with: file)
        load(ImageRequest(url: fixture.url("a")), in: fixture)
        #expect(fixture.outcomes.wait { $0.count == 1 })
        #expect(partials.all.isEmpty)
    }

    @Test("A transformer changes it as the image, and gets it at no other size")
    func transformed() {
        let fixture = fixture()
        fixture.loader.answer(fixture.url("a"), with: file)
        let crop = ImageTransformer.crop(to: PixelRect(x: 10, y: 20, width: 30, height: 40))
        load(ImageRequest(url: fixture.url("a"), loading: .progressive, transformer: crop), in: fixture)
        #expect(fixture.outcomes.wait { $0.count == 1 })
        #expect(isCyan == [true] && partials.all.first?.pixelSize == PixelSize(width: 30, height: 40))
        // Given an image of more than a quarter of a megapixel
        let image = TestImage.solid(0xFF0000, size: PixelSize(width: 1000, height: 750), format: .jpeg)
        let thumbnail = TestImage.solid(0x00FFFF, size: PixelSize(width: 64, height: 48), format: .jpeg)
        let large = TestImage.jpeg(image, with: [TestImage.exifSegment(thumbnail: thumbnail)])
        fixture.loader.answer(fixture.url("b"), with: large)
        load(ImageRequest(url: fixture.url("b"), loading: .progressive, transformer: crop), in: fixture)
        #expect(fixture.outcomes.wait { $0.count == 2 })
        #expect(isCyan == [true])
        // Without a transformer it is shown
        load(ImageRequest(url: fixture.url("b"), loading: .progressive), in: fixture)
        #expect(fixture.outcomes.wait { $0.count == 3 })
        #expect(isCyan == [true, true])
    }

    @Test("It does not take the place of the image at another size")
    func otherSize() {
        let fixture = fixture()
        fixture.loader.answer(fixture.url("a"), with: file)
        fixture.load("a", size: .contain(PixelSize(width: 40, height: 30)))
        #expect(fixture.outcomes.wait { $0.count == 1 })
        load(ImageRequest(url: fixture.url("a"), loading: .progressive), in: fixture)
        #expect(fixture.outcomes.wait { $0.count == 2 })
        #expect(isCyan == [false])
    }

    @Test("It gives way to the preview of the request, and does not take its place")
    func preview() {
        for isPreviewFirst in [true, false] {
            let fixture = fixture(holdsResponses: true)
            let (url, preview) = (fixture.url("a"), fixture.url("preview"))
            fixture.loader.answer(url, with: file)
            fixture.loader.answer(preview, with: TestImage.solid(0xFF0000, size: PixelSize(width: 32, height: 24)))
            var request = ImageRequest(url: url, loading: .progressive)
            request.previewURL = preview
            let count = partials.all.count
            load(request, in: fixture)
            #expect(EventLog<Int>.poll { fixture.loader.runningCount == 2 })
            if isPreviewFirst { fixture.loader.finish(preview) }
            if isPreviewFirst { #expect(partials.wait { $0.count == count + 1 }) }
            fixture.loader.send(file.prefix(TestImage.headLength(of: file)), for: url)
            if !isPreviewFirst { #expect(partials.wait { $0.count == count + 1 }) }
            if !isPreviewFirst { fixture.loader.finish(preview) }
            if !isPreviewFirst { #expect(partials.wait { $0.count == count + 2 }) }
            fixture.loader.finish(url)
            #expect(fixture.outcomes.wait { $0.count == 1 })
            #expect(Array(isCyan.dropFirst(count)) == (isPreviewFirst ? [false] : [true, false]))
        }
    }

    @Test("An app's decoder of JPEG is not asked for it")
    func ownDecoder() {
        let fixture = fixture()
        fixture.loader.answer(fixture.url("a"), with: file)
        var request = ImageRequest(url: fixture.url("a"), loading: .progressive)
        request.decoder = CountingCoder()
        load(request, in: fixture)
        #expect(fixture.outcomes.wait { $0.count == 1 })
        #expect(!isCyan.contains(true))
    }
}

extension WebImage {
    fileprivate var firstChannel: UInt8 { pixels.withUnsafeBytes { $0[0] } }
}
