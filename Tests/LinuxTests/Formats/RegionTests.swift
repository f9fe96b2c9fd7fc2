import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageSandbox
import WebImageTesting

@testable import WebImageLinux

@Suite("Regions of large images")
struct RegionTests {
    private static let sandbox = DecodeSandbox(limit: 2)

    /// A file of which regions are decoded.
    struct File: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let data: @Sendable () throws -> Data

        var isNoise: Bool { !testDescription.contains("photograph") && !testDescription.contains("shipped") }
    }

    private static func turned(_ value: UInt8) -> File {
        File(testDescription: "JPEG with the orientation \(value)") {
            CoderTests.addingOrientation(value, to: try NoiseImage.encoded(PixelSize(width: 345, height: 211), .jpeg))
        }
    }

    static let files: [File] =
        [
            File(testDescription: "JPEG with halved colours and odd sides") {
                try NoiseImage.encoded(PixelSize(width: 1037, height: 743), .jpeg)
            },
            File(testDescription: "JPEG with all colours") {
                try NoiseImage.encoded(PixelSize(width: 640, height: 480), .jpeg, quality: 0.95)
            },
            File(testDescription: "photograph") { ShippedImage.data("autumn-trees.jpg") },
            File(testDescription: "small photograph") { ShippedImage.data("cat.jpg") },
            File(testDescription: "JPEG of inks") { try inks() },
            File(testDescription: "WebP with odd sides") {
                try NoiseImage.encoded(PixelSize(width: 1037, height: 743), .webp)
            },
            File(testDescription: "shipped WebP") { ShippedImage.data("citrus.webp") },
        ] + (2...8).map(turned)

    private static func inks() throws -> Data {
        let folder = TemporaryDirectory()
        try ShippedImage.data("cat.jpg").write(to: URL(filePath: "\(folder.path)/cat.jpg"))
        let arguments = ["\(folder.path)/cat.jpg", "-colorspace", "CMYK", "\(folder.path)/inks.jpg"]
        try #require(try ChildProcess.run("/usr/bin/convert", arguments).exitCode == 0)
        return try Data(contentsOf: URL(filePath: "\(folder.path)/inks.jpg"))
    }

    private func coder(_ data: Data) throws -> any ExtendedDecoding {
        try CoderRegistry.builtIn.decoder(for: data, url: nil)
    }

    private func region(_ rect: PixelRect, by reduction: Int = 1, of data: Data) throws -> WebImage {
        let region = DecodeRegion(rect: rect, reduction: reduction)
        return try coder(data).decode(region, of: data, options: DecodeOptions()) { false }
    }

    /// Tiles of an odd size, whose edges lie within blocks.
    private func tiles(_ size: PixelSize, side: Int) -> [PixelRect] {
        stride(from: 0, to: size.height, by: side).flatMap { y in
            stride(from: 0, to: size.width, by: side).map { x in
                PixelRect(x: x, y: y, width: min(side, size.width - x), height: min(side, size.height - y))
            }
        }
    }

    @Test("Tiles that are put together are exactly the whole image", arguments: files)
    func exactTiles(file: File) throws {
        let data = try file.data()
        try #require(try coder(data).decodesRegions(of: data))
        let whole = try CoderRegistry.builtIn.decode(data)
        for rect in tiles(whole.pixelSize, side: 101) {
            let tile = try region(rect, of: data)
            #expect(tile.largestDifference(from: whole, at: rect) == 0, "\(rect)")
        }
        let middle = PixelRect(x: whole.pixelSize.width / 2, y: whole.pixelSize.height / 2, width: 1, height: 1)
        #expect(try region(middle, of: data).largestDifference(from: whole, at: middle) == 0)
    }

    @Test("Reduced tiles that are put together are the whole image in that size", arguments: files, [2, 4, 8])
    func reducedTiles(file: File, reduction: Int) throws {
        let data = try file.data()
        let size = try #require(ImageHeader(reading: data)?.size).divided(by: reduction)
        let whole = try region(PixelRect(x: 0, y: 0, width: size.width, height: size.height), by: reduction, of: data)
        #expect(whole.pixelSize == size)
        // Beside an edge that is not a whole number of blocks, a few pixels are stretched.
        for rect in tiles(size, side: 37)
        where rect.x + rect.size.width < size.width && rect.y + rect.size.height < size.height {
            let tile = try region(rect, by: reduction, of: data)
            #expect(tile.largestDifference(from: whole, at: rect) <= 1, "\(rect)")
        }
        // Noise has no small version that another scaler would make, too.
        guard reduction <= 4, !file.isNoise else { return }
        let difference = try CoderRegistry.builtIn.decode(data).difference(from: whole)
        #expect(difference < 8, "\(difference)")
    }

    @Test("A worker decodes the regions that this process does", arguments: files)
    func sandboxed(file: File) throws {
        try #require(DecodeSandbox.shared != nil)
        let data = try file.data()
        let coders = CoderRegistry.builtIn(adding: [], sandbox: (Self.sandbox, isOptional: false))
        let there = try coders.decoder(for: data, url: nil)
        #expect(there.decodesRegions(of: data))
        for (x, reduction) in [(0, 1), (33, 1), (5, 2), (3, 8)] {
            let rect = PixelRect(x: x, y: x, width: 20, height: 17)
            let region = DecodeRegion(rect: rect, reduction: reduction)
            let one = try self.region(rect, by: reduction, of: data)
            let other = try there.decode(region, of: data, options: DecodeOptions()) { false }
            #expect(one.pixels.straightAlpha == other.pixels.straightAlpha)
            #expect(one.format == other.format && other.pixelSize == rect.size)
        }
    }

    @Test("Files whose pixels come together only at their end have no regions")
    func wholeFiles() throws {
        var lossless = EncodeOptions()
        lossless.isLossless = true
        for data in [
            ShippedImage.data("deep-field.jpg"), ShippedImage.data("jellyfish.webp"),
            ShippedImage.data("mushroom.webp"),
            try NoiseImage.make(PixelSize(width: 20, height: 20)).data(as: .webp, options: lossless),
            ShippedImage.data("cactus.png"),
        ] {
            #expect(try !coder(data).decodesRegions(of: data))
        }
    }

    @Test("The limit is that of the region, not of the image")
    func limits() throws {
        let data = try NoiseImage.encoded(PixelSize(width: 1037, height: 743), .jpeg)
        let options = DecodeOptions(maximumPixelCount: 10_000)
        let coder = try coder(data)
        let small = DecodeRegion(rect: PixelRect(x: 500, y: 300, width: 100, height: 100))
        #expect(try coder.decode(small, of: data, options: options) { false }.pixelSize.pixelCount == 10_000)
        let large = DecodeRegion(rect: PixelRect(x: 500, y: 300, width: 101, height: 100))
        let error = thrownError { try coder.decode(large, of: data, options: options) { false } }
        #expect(error?.code == .imageTooLarge)
    }

    @Test("A region outside of the image, or of a size that cannot be, is an error", arguments: files)
    func outside(file: File) throws {
        let data = try file.data()
        let size = try #require(ImageHeader(reading: data)?.size)
        for rect in [
            PixelRect(x: size.width, y: 0, width: 1, height: 1),
            PixelRect(x: 0, y: 0, width: size.width + 1, height: 1),
            PixelRect(x: 0, y: 0, width: 0, height: 0), PixelRect(x: -1, y: 0, width: 5, height: 5),
            PixelRect(x: 0, y: 0, width: .max, height: .max),
        ] {
            #expect(thrownError { try region(rect, of: data) }?.code == .badImageData, "\(rect)")
        }
        for reduction in [0, 3, -2, Int.min] {
            let rect = PixelRect(x: 0, y: 0, width: 1, height: 1)
            #expect(thrownError { try region(rect, by: reduction, of: data) }?.code == .badImageData)
        }
    }

    @Test("A truncated file is an error, wherever it ends", arguments: [files[0], files[5]])
    func truncated(file: File) throws {
        let data = try file.data()
        let coder = try coder(data)
        let region = DecodeRegion(rect: PixelRect(x: 100, y: 600, width: 100, height: 100))
        for share in 0..<16 {
            let part = Data(data.prefix(data.count * share / 16))
            let error = thrownError { try coder.decode(region, of: part, options: DecodeOptions()) { false } }
            #expect(error?.code == .badImageData, "\(share)")
        }
    }

    @Test("A small file that claims 65,500 by 65,500 pixels takes neither memory nor long", .timeLimit(.minutes(1)))
    func lyingSize() throws {
        var data = try NoiseImage.encoded(PixelSize(width: 64, height: 64), .jpeg)
        let frame = try #require(data.firstRange(of: [0xFF, 0xC0])).lowerBound
        data.replaceSubrange(frame + 5..<frame + 9, with: [0xFF, 0xDC, 0xFF, 0xDC])
        let coders = CoderRegistry.builtIn(adding: [], sandbox: (Self.sandbox, isOptional: false))
        let coder = try coders.decoder(for: data, url: nil)
        let top = DecodeRegion(rect: PixelRect(x: 0, y: 0, width: 64, height: 64))
        #expect(try coder.decode(top, of: data, options: DecodeOptions()) { false }.pixelSize.width == 64)
        // What is not there is grey, as in browsers.
        let bottom = DecodeRegion(rect: PixelRect(x: 65_000, y: 65_000, width: 64, height: 64))
        let image = try coder.decode(bottom, of: data, options: DecodeOptions()) { false }
        #expect(image.pixelSize == bottom.rect.size)
        let all = DecodeRegion(rect: PixelRect(x: 0, y: 0, width: 65_500, height: 65_500))
        #expect(
            thrownError { try coder.decode(all, of: data, options: DecodeOptions()) { false } }?.code == .imageTooLarge
        )
    }

    @Test("Damaged files are errors or images, in workers and here", arguments: [files[0], files[5]])
    func damaged(file: File) throws {
        let data = try file.data()
        var generator = SeededGenerator(seed: 7)
        let coder = try coder(data)
        for _ in 0..<150 {
            var damaged = data
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                damaged[Int.random(in: 0..<min(damaged.count, 4096), using: &generator)] = UInt8.random(
                    in: 0...255,
                    using: &generator
                )
            }
            let rect = PixelRect(x: 100, y: 200, width: 64, height: 64)
            do throws(ImageError) {
                let image = try coder.decode(DecodeRegion(rect: rect), of: damaged, options: DecodeOptions()) { false }
                #expect(image.pixelSize == rect.size)
            } catch {
                #expect([.badImageData, .imageTooLarge].contains(error.code), "\(error)")
            }
        }
    }

    @Test("A region that is not wanted any more is given up between rows")
    func cancelled() throws {
        let data = try NoiseImage.encoded(PixelSize(width: 64, height: 4000), .jpeg)
        let coder = try coder(data)
        var looks = 0
        let region = DecodeRegion(rect: PixelRect(x: 0, y: 3900, width: 64, height: 64))
        let error = thrownError {
            try coder.decode(region, of: data, options: DecodeOptions()) {
                looks += 1
                return looks == 3
            }
        }
        #expect(error?.code == .cancelled && looks == 3)
    }
}
