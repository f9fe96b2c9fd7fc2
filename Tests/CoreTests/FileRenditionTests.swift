import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageFormats
import WebImageLinux
import WebImageTesting

@testable import WebImageCore

@Suite("Renditions of local files")
struct FileRenditionTests {
    private let folder = TemporaryDirectory()
    private let natural = PixelSize(width: 400, height: 300)
    private let size = DecodeSize.contain(PixelSize(width: 200, height: 200))

    private final class Box: Sendable {
        /// Seconds by which the clock is ahead of the files.
        let age = Mutex(10.0)
        /// The number of renditions that were written.
        let writes = Mutex(0)
        /// Whether renditions cannot be decoded, although their bytes are those that were written.
        let isUndecodable = Mutex(false)
    }

    private struct Coder: RenditionCoding {
        let box: Box
        let coder = RenditionCoder()

        func encode(_ image: WebImage, hasRoom: Bool) -> (Data, RenditionInfo.Encoding)? {
            coder.encode(image, hasRoom: hasRoom)
        }

        func decode(_ data: Data, _ info: RenditionInfo) -> PixelBuffer? {
            box.isUndecodable.withLock { $0 } ? nil : coder.decode(data, info)
        }
    }

    private let box = Box()

    private func fixture() -> ManagerFixture {
        let box = box
        let store = FaultyStore { call, _ in
            if call == "write" { box.writes.withLock { $0 += 1 } }
            return nil
        }
        return ManagerFixture(resultStore: store) { dependencies in
            let files = LocalLoader.files(queue: WorkQueue(name: "files", threadCount: 2), maximumByteCount: 1 << 24) {
                Date(timeIntervalSinceNow: box.age.withLock { $0 })
            }
            dependencies.loaders = LoaderRegistry([files])
            dependencies.renditionCoder = Coder(box: box)
        }
    }

    private var url: URL { URL(filePath: folder.path + "/photograph.png") }

    private func write(_ color: UInt32) throws {
        try TestImage.solid(color, size: natural).write(to: url)
    }

    /// Loads with an empty memory cache, as after a start, and waits until the image is stored.
    private func load(
        _ fixture: ManagerFixture,
        _ policy: ImageRequest.CachePolicy = .standard
    ) async throws -> ImageResponse {
        fixture.manager.cache.removeAllFromMemory()
        let request = ImageRequest(url: url, cachePolicy: policy, decodeSize: size)
        let response = try await fixture.manager.response(for: request)
        #expect(EventLog<Int>.poll { fixture.isQuiet })
        return response
    }

    private func blue(_ image: WebImage) -> UInt8 { image.content.pixels.withUnsafeBytes { $0[2] } }

    @Test("A photograph is decoded once, and shown from its rendition while the file stays the same")
    func keeps() async throws {
        // Given
        let fixture = fixture()
        try write(0x000040)
        let first = try await load(fixture)
        // When
        let second = try await load(fixture)
        let third = try await load(fixture)
        // Then
        #expect(first.source == .loader)
        #expect([second.source, third.source] == [.disk, .disk])
        #expect(fixture.decodes.count == 1)
        #expect(box.writes.withLock { $0 } == 1, "An unchanged rendition is not written again")
        #expect(blue(third.image) == 0x40)
        #expect(third.image.pixelSize == PixelSize(width: 200, height: 150))
        #expect(third.image.naturalSize == natural)
    }

    @Test("A file that was written again is decoded again, although its size and its date are those of before")
    func changed() async throws {
        // Given
        let fixture = fixture()
        try write(0x000040)
        _ = try await load(fixture)
        let date = try #require(FileManager.default.attributesOfItem(atPath: url.path)[.modificationDate] as? Date)
        // When
        let file = try FileHandle(forWritingTo: url)
        try file.write(contentsOf: TestImage.solid(0x000080, size: natural))
        try file.close()
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: url.path)
        // Then
        let second = try await load(fixture)
        #expect(second.source == .loader)
        #expect(blue(second.image) == 0x80)
        #expect(try await load(fixture).source == .disk)
    }

    @Test("No rendition is kept of a file that has just been written, which may be written again within the same tick")
    func justWritten() async throws {
        // Given
        let fixture = fixture()
        box.age.withLock { $0 = -100 }
        try write(0x000040)
        // When
        _ = try await load(fixture)
        // Then
        #expect(fixture.results.usage.count == 0)
        box.age.withLock { $0 = 10 }
        #expect(try await load(fixture).source == .loader)
        #expect(try await load(fixture).source == .disk)
    }

    @Test("A file that is gone is an error, although there is a rendition; a request for what is cached gets that")
    func removed() async throws {
        // Given
        let fixture = fixture()
        try write(0x000040)
        _ = try await load(fixture)
        // When
        try FileManager.default.removeItem(at: url)
        // Then
        await #expect { try await load(fixture) } throws: { ($0 as? ImageError)?.code == .unreadable }
        #expect(try await load(fixture, .cachedOnly).source == .disk)
        #expect(try await load(fixture, .cachedElseLoad).source == .disk)
    }

    @Test("A damaged rendition is replaced by the image of the file")
    func damaged() async throws {
        // Given
        let fixture = fixture()
        try write(0x000040)
        _ = try await load(fixture)
        let path = try #require(FileStore().files(below: fixture.results.directory).first?.path)
        // When
        var bytes = try Data(contentsOf: URL(filePath: path))
        bytes[100] ^= 0xFF
        try bytes.write(to: URL(filePath: path))
        // Then
        let second = try await load(fixture)
        #expect(second.source == .loader)
        #expect(blue(second.image) == 0x40)
        #expect(try await load(fixture).source == .disk)
    }

    @Test("The bytes of the file come with an image from its rendition where they are wanted")
    func data() async throws {
        // Given
        let fixture = fixture()
        try write(0x000040)
        _ = try await load(fixture)
        fixture.manager.cache.removeAllFromMemory()
        // When
        var request = ImageRequest(url: url, decodeSize: size)
        request.includesData = true
        let response = try await fixture.manager.response(for: request)
        // Then
        #expect(response.data == TestImage.solid(0x000040, size: natural))
        #expect(fixture.decodes.count == 2, "The file is read and decoded once, not again after its rendition")
    }

    @Test("Two sizes of a file that are loaded at a time both come from their renditions")
    func sizesAtATime() async throws {
        // Given
        let fixture = fixture()
        try write(0x000040)
        let sizes = [40, 60, 80].map { DecodeSize.contain(PixelSize(width: $0, height: $0)) }
        for size in sizes { _ = try await fixture.manager.response(for: ImageRequest(url: url, decodeSize: size)) }
        #expect(EventLog<Int>.poll { fixture.isQuiet })
        fixture.manager.cache.removeAllFromMemory()
        // When
        for size in sizes {
            fixture.load(ImageRequest(url: url, decodeSize: size)) { fixture.outcomes.add(ManagerFixture.Outcome($0)) }
        }
        // Then
        #expect(fixture.outcomes.wait { $0.count == 3 })
        #expect(fixture.outcomes.all.allSatisfy { if case .image(_, .disk) = $0 { true } else { false } })
        #expect(fixture.decodes.count == 3)
    }

    @Test("The image of the file is shown where its rendition is of no use, although that is intact")
    func undecodable() async throws {
        // Given
        let fixture = fixture()
        try write(0x000040)
        _ = try await load(fixture)
        box.isUndecodable.withLock { $0 = true }
        // Then
        let second = try await load(fixture)
        #expect(second.source == .loader)
        #expect(blue(second.image) == 0x40)
    }

    @Test(
        "A load past the caches leaves no rendition of an earlier version, nor one of another size",
        arguments: [
            ImageRequest.CachePolicy.reload, .refresh, .standard,
        ]
    )
    func reload(policy: ImageRequest.CachePolicy) async throws {
        // Given
        let fixture = fixture()
        try write(0x000040)
        let small = ImageRequest(
            url: url,
            cachePolicy: .cachedOnly,
            decodeSize: .contain(PixelSize(width: 40, height: 40))
        )
        var first = small
        first.cachePolicy = .standard
        _ = try await fixture.manager.response(for: first)
        _ = try await load(fixture)
        // When
        box.age.withLock { $0 = -100 }
        try write(0x000080)
        #expect(blue(try await load(fixture, policy).image) == 0x80)
        fixture.manager.cache.removeAllFromMemory()
        // Then
        await #expect { try await load(fixture, .cachedOnly) } throws: { ($0 as? ImageError)?.code == .notInCache }
        await #expect { try await fixture.manager.response(for: small) } throws: {
            ($0 as? ImageError)?.code == .notInCache
        }
    }

    @Test("A file that another one was moved over is decoded again")
    func movedOver() async throws {
        // Given
        let fixture = fixture()
        try write(0x000040)
        let other = URL(filePath: folder.path + "/other.png")
        try TestImage.solid(0x000080, size: natural).write(to: other)
        _ = try await load(fixture)
        // When
        #expect(rename(other.path, url.path) == 0)
        // Then
        #expect(blue(try await load(fixture).image) == 0x80)
    }

    @Test("Two sizes of a file are each checked against it")
    func sizes() async throws {
        // Given
        let fixture = fixture()
        try write(0x000040)
        let small = ImageRequest(url: url, decodeSize: .contain(PixelSize(width: 40, height: 40)))
        _ = try await load(fixture)
        _ = try await fixture.manager.response(for: small)
        #expect(EventLog<Int>.poll { fixture.isQuiet })
        // When
        try write(0x000080)
        let large = try await load(fixture)
        let response = try await fixture.manager.response(for: small)
        // Then
        #expect(blue(large.image) == 0x80)
        #expect(blue(response.image) == 0x80)
    }

    @Test("A file system that hangs does not keep the disk cache from serving other images")
    func hanging() async throws {
        // Given
        let (gate, watchClock) = (Gate(), ManualClock())
        let fixture = ManagerFixture { dependencies in
            let read = LocalLoader.reader(maximumByteCount: 1 << 24) { Date(timeIntervalSinceNow: 10) }
            let files = WorkQueue(name: "files", threadCount: 1)
            let version: @Sendable (URL) -> FileVersion? = { url in
                gate.wait()
                return FileVersion(pathBytes: Array(url.path.utf8))
            }
            dependencies.loaders.add(LocalLoader(scheme: "file", queue: files, version: version, read: read))
            dependencies.diskWatchClock = watchClock
            dependencies.diskTimeLimit = .seconds(2)
        }
        let other = ImageRequest(url: fixture.url("a"), decodeSize: size)
        fixture.loader.answer(other.url, with: TestImage.solid(1, size: natural))
        try write(0x000040)
        _ = try await load(fixture)
        _ = try await fixture.manager.response(for: other)
        #expect(EventLog<Int>.poll { fixture.isQuiet })
        fixture.manager.cache.removeAllFromMemory()
        // When
        gate.close()
        let request = ImageRequest(url: url, decodeSize: size)
        fixture.load(request) { fixture.outcomes.add(ManagerFixture.Outcome($0)) }
        #expect(EventLog<Int>.poll { fixture.isAtRest })
        watchClock.advance(by: .seconds(2))
        watchClock.advance(by: .seconds(2))
        // Then
        #expect(try await fixture.manager.response(for: other).source == .disk)
        #expect(fixture.outcomes.all.isEmpty)
        gate.open()
        #expect(fixture.outcomes.wait { $0 == [.image(PixelSize(width: 200, height: 150), .disk)] })
    }
}
