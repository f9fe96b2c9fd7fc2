import Foundation
import GtkWebImageZoom
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageTesting

@Suite("Tiled images")
struct TiledImageTests {
    private let loader = FakeLoader()
    private let url = URL(string: "https://example.com/map")!

    private func open(_ data: Data, maximumByteCount: Int = 256 << 20) async throws -> TiledImage {
        loader.answer(url, with: data)
        return try await ImageManager.testing(loader).tiledImage(for: url, maximumByteCount: maximumByteCount)
    }

    @Test("The file is loaded once, and regions have the size of their rectangle times the scale")
    func regions() async throws {
        let image = try await open(NoiseImage.encoded(PixelSize(width: 1037, height: 743), .jpeg))
        #expect(image.size == PixelSize(width: 1037, height: 743) && image.format == .jpeg && image.decodesRegions)
        let rect = PixelRect(x: 100, y: 60, width: 400, height: 300)
        for (scale, width, height) in [(1, 400, 300), (0.5, 200, 150), (0.3, 120, 90), (0.125, 51, 38), (7, 400, 300)] {
            let region = try await image.region(rect, scale: scale)
            #expect(region.pixelSize == PixelSize(width: width, height: height), "\(scale)")
        }
        let edge = try await image.region(PixelRect(x: 1000, y: 700, width: 500, height: 500))
        #expect(edge.pixelSize == PixelSize(width: 37, height: 43))
        for scale in [0, -1, -Double.infinity, 1e-300] {
            #expect(try await image.region(image.bounds, scale: scale).pixelSize == PixelSize(width: 1, height: 1))
        }
        #expect(loader.started == [url])
    }

    @Test("A format without regions is decoded once, and its regions are those of the whole image")
    func keptPixels() async throws {
        let png = try NoiseImage.make(PixelSize(width: 301, height: 203)).data(as: .png)
        let image = try await open(png)
        #expect(!image.decodesRegions && image.size == PixelSize(width: 301, height: 203))
        let whole = try CoderRegistry.builtIn.decode(png)
        let region = try await image.region(PixelRect(x: 31, y: 17, width: 100, height: 90))
        for (x, y) in [(0, 0), (99, 0), (50, 45), (99, 89)] {
            #expect(region.color(x: x, y: y) == whole.color(x: x + 31, y: y + 17))
        }
        #expect(try await image.region(image.bounds, scale: 0.25).pixelSize == PixelSize(width: 76, height: 51))
    }

    @Test("Without memory for its pixels, a format without regions has less detail and the same places")
    func maximumByteCount() async throws {
        let data = TestImage.quarters(size: PixelSize(width: 400, height: 400))
        let image = try await open(data, maximumByteCount: 40_000)
        #expect(image.size == PixelSize(width: 400, height: 400))
        for (x, y, color) in [(10, 10, 0xFF0000), (370, 10, 0x00FF00), (10, 370, 0x0000FF), (370, 370, 0xFFFFFF)] {
            let region = try await image.region(PixelRect(x: x, y: y, width: 20, height: 20))
            #expect(region.pixelSize == PixelSize(width: 20, height: 20))
            #expect(region.color(x: 10, y: 10) == ImageColor(UInt32(color)))
        }
    }

    @Test("Progressive JPEG, lossless WebP and the first frame of an animation can be zoomed into, too")
    func otherFiles() async throws {
        for name in ["deep-field.jpg", "mushroom.webp", "jellyfish.webp", "bouncing-ball.gif", "cactus.png"] {
            let data = ShippedImage.data(name)
            let image = try await open(data)
            let size = try #require(ImageHeader(reading: data)?.size)
            #expect(image.size == size && !image.decodesRegions, "\(name)")
            let region = try await image.region(PixelRect(x: 5, y: 5, width: 40, height: 30))
            #expect(region.pixelSize == PixelSize(width: 40, height: 30) && region.frameCount == 1)
        }
    }

    @Test("Loads that fail, bytes that are no image and regions outside of the image have typed errors")
    func errors() async throws {
        let manager = ImageManager.testing(loader)
        #expect(await thrownError { try await manager.tiledImage(for: url) }?.code == .badStatus)
        #expect(await thrownError { try await open(Data("<html>".utf8)) }?.code == .badImageData)
        #expect(await thrownError { try await open(Data()) }?.code == .badImageData)
        let jpeg = try NoiseImage.encoded(PixelSize(width: 64, height: 64), .jpeg)
        let image = try await open(jpeg)
        let error = await thrownError { try await image.region(PixelRect(x: 64, y: 0, width: 9, height: 9)) }
        #expect(error?.code == .badImageData && error?.url == url)
    }

    @Test("A region above the limit of pixels is refused, and a smaller one of the same image is not")
    func limit() async throws {
        loader.answer(url, with: try NoiseImage.encoded(PixelSize(width: 500, height: 500), .jpeg))
        let manager = ImageManager.testing(loader) { $0.maximumPixelCount = 10_000 }
        let image = try await manager.tiledImage(for: url)
        #expect(await thrownError { try await image.region(image.bounds) }?.code == .imageTooLarge)
        #expect(try await image.region(image.bounds, scale: 0.125).pixelSize == PixelSize(width: 63, height: 63))
    }

    @Test("Cancelling the Swift task ends a region that is being decoded, and the next one gets the thread")
    func cancellation() async throws {
        let coder = PatientCoder()
        loader.answer(url, with: PatientCoder.file)
        let manager = ImageManager.testing(loader) { $0.decoders = [coder] }
        let image = try await manager.tiledImage(for: url)
        let rect = PixelRect(x: 0, y: 0, width: 10, height: 10)
        let tasks = (0..<20).map { _ in Task { await thrownError { try await image.region(rect) } } }
        await waitForStart(of: coder)
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await task.value?.code == .cancelled) }
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await thrownError { try await image.region(rect) }
        }
        #expect(await early.value?.code == .cancelled)
        // One that is wanted is decoded, since nobody holds memory or a thread any more.
        coder.isPatient.store(false, ordering: .sequentiallyConsistent)
        #expect(try await image.region(rect).pixelSize == rect.size)
    }

    /// Waits without blocking a thread of Swift's.
    private func waitForStart(of coder: PatientCoder) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                coder.started.wait()
                continuation.resume()
            }
        }
    }

    /// Decodes regions until nobody wants them, while it is patient.
    private final class PatientCoder: ExtendedDecoding {
        static let file = (try? NoiseImage.encoded(PixelSize(width: 64, height: 64), .jpeg)) ?? Data()
        let started = DispatchSemaphore(value: 0)
        let isPatient = Atomic(true)

        func canDecode(_ format: ImageFormat) -> Bool { format == .jpeg }

        func decodesRegions(of data: Data) -> Bool { true }

        func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
            try JPEGCoder().decode(data, options: options)
        }

        func decode(
            _ region: DecodeRegion,
            of data: Data,
            options: DecodeOptions,
            isCancelled: () -> Bool
        ) throws(ImageError) -> WebImage {
            started.signal()
            while isPatient.load(ordering: .sequentiallyConsistent) {
                if isCancelled() { throw .cancelled(options.url) }
                sched_yield()
            }
            return try JPEGCoder().decode(region, of: data, options: options, isCancelled: isCancelled)
        }
    }

    // WebP is decoded from its top for each region, in more than a second.
    @Test(
        "Zooming through 50 megapixels takes less than 40 MB beside the file",
        arguments: [("a.jpg", 8), ("a.webp", 1)]
    )
    func memory(name: String, windowCount: Int) throws {
        let folder = TemporaryDirectory()
        let path = "\(folder.path)/\(name)"
        var large = BandedJPEG(size: PixelSize(width: 8192, height: 6144))
        let band = try NoiseImage.encoded(PixelSize(width: 8192, height: 256), .jpeg)
        for _ in 0..<24 {
            let isAdded = large.append(band)
            #expect(isAdded)
        }
        var file = large.data
        if name.hasSuffix("webp") {
            var options = EncodeOptions()
            options.webPEffort = 2
            file = try WebImage(data: file).data(as: .webp, options: options)
        }
        try file.write(to: URL(filePath: path))
        let result = try ChildProcess.run(BuiltProgram.path("ZoomWorker"), [path, "\(windowCount)"])
        print("\(name), \(file.count >> 20) MB:\n\(result.output)")
        let lines = result.output.split(separator: "\n")
        #expect(lines.contains("image of 8192x6144"))
        let megabytes = lines.compactMap { $0.hasPrefix("megabytes: ") ? Int($0.dropFirst(11)) : nil }.first
        #expect(try #require(megabytes) < 40 + (file.count >> 20))
    }
}
