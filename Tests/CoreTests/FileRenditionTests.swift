import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

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
        }
    }

    private var url: URL { URL(filePath: folder.path + "/photograph.png") }

    private func write(_ color: UInt32) throws {
        try TestImage.solid(color, size: natural).write(to: url)
    }

    /// Loads with an empty memory cache, as after a start, and waits until the image is stored.
    private func load(
        _ fixture: ManagerFixture,
        _ policy: CachePolicy = .standard
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
        #expect([second.source, third.source] == [.revalidated, .revalidated])
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
        #expect(try await load(fixture).source == .revalidated)
    }

    @Test("No rendition is kept of a file that has just been written, which may be written again within the same tick")
    func justWritten() async throws {
        // Given
        let fixture = fixture()
        box.age.withLock { $0 = 0 }
        try write(0x000040)
        // When
        _ = try await load(fixture)
        // Then
        #expect(fixture.results.usage.count == 0)
        box.age.withLock { $0 = 10 }
        #expect(try await load(fixture).source == .loader)
        #expect(try await load(fixture).source == .revalidated)
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
        #expect(try await load(fixture).source == .revalidated)
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
}
