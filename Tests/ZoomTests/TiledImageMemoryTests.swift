import Foundation
import GtkWebImageZoom
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("The memory of tiled images")
struct TiledImageMemoryTests {
    private let url = URL(string: "https://example.com/map")!

    /// A manager whose decodes and loads have so much memory, and that loads a file with 16 MB of pixels.
    private func manager(limit: Int) -> ImageManager {
        let loader = FakeLoader()
        loader.answer(url, with: TestImage.quarters(size: PixelSize(width: 2000, height: 2000)))
        let queue = WorkQueue(name: "test-decode", threadCount: 2)
        var dependencies = Pipeline.Dependencies(
            memoryCache: MemoryCache(costLimit: 64 << 20),
            dataCache: nil,
            loaders: LoaderRegistry([loader]),
            coders: .builtIn,
            dispatcher: InlineDispatcher(),
            ioQueue: queue,
            decodeQueue: queue
        )
        dependencies.budget = MemoryBudget(limit: limit)
        return ImageManager(dependencies: dependencies)
    }

    @Test(
        "Where the file and its pixels do not fit into the memory of decodes together, fewer pixels are kept",
        arguments: [12_000_000, 5_000_000, 4_000_000]
    )
    func fewerPixels(maximumByteCount: Int) async throws {
        // Given 20 MiB for decodes, and pixels that are decoded before they are scaled
        let manager = manager(limit: 32 << 20)
        // When it is opened with a higher limit than that leaves room for, or with a lower one
        let image = try await manager.tiledImage(for: url, maximumByteCount: maximumByteCount)
        // Then all of it is there
        #expect(image.size == PixelSize(width: 2000, height: 2000))
        let region = try await image.region(PixelRect(x: 1900, y: 100, width: 50, height: 50))
        #expect(region.pixelSize == PixelSize(width: 50, height: 50))
    }

    @Test("What takes too much at every size is an error that says by how much")
    func tooLarge() async throws {
        let manager = manager(limit: 16 << 20)
        let error = await thrownError { try await manager.tiledImage(for: url) }
        #expect(error?.code == .imageTooLarge && error?.reason.contains("more than the 10 MiB") == true)
    }
}
