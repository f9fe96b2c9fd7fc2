import FoundationEssentials
import TestSupport
import Testing
import WebImageTesting

@testable import WebImageCore

@Suite("The memory that a decode takes, by its header")
struct DecodeCostTests {
    @Test("A TIFF that says its size twice has the first one, as it has for libtiff")
    func repeatedTags() throws {
        func entry(_ tag: UInt16, _ value: UInt32, type: UInt16 = 4) -> [UInt8] {
            [UInt8(tag & 255), UInt8(tag >> 8), UInt8(type), 0, 1, 0, 0, 0]
                + (0..<4).map { UInt8(value >> ($0 * 8) & 255) }
        }
        let entries = entry(256, 11_000) + entry(257, 9000) + entry(256, 1) + entry(257, 1)
        let file = Data([0x49, 0x49, 42, 0, 8, 0, 0, 0, 4, 0] + entries + [0, 0, 0, 0])
        let header = try #require(ImageHeader(reading: file))
        #expect(header.size == PixelSize(width: 11_000, height: 9000))
        // A byte is a number, too.
        let small = entry(256, 200, type: 1) + entry(257, 100, type: 1)
        let other = try #require(
            ImageHeader(reading: Data([0x49, 0x49, 42, 0, 8, 0, 0, 0, 2, 0] + small + [0, 0, 0, 0]))
        )
        #expect(other.size == PixelSize(width: 200, height: 100))
    }

    @Test("An image that is turned takes its pixels twice")
    func turned() {
        let size = PixelSize(width: 1000, height: 500)
        func cost(_ orientation: ImageOrientation) -> Int {
            DecodeCost(of: ImageHeader(format: .png, storedSize: size, orientation: orientation), DecodeOptions())
                .byteCount
        }
        #expect(cost(.up) == size.pixelCount * 4)
        #expect(cost(.right) == size.pixelCount * 8)
    }

    @Test(
        "An image that is scaled and turned takes its pixels twice beside those of the file",
        arguments: [false, true]
    )
    func scaledAndTurned(isWide: Bool) {
        let size = PixelSize(width: 1000, height: 500)
        var options = DecodeOptions(size: .contain(PixelSize(width: 500, height: 500)))
        options.keepsWideColors = isWide
        func cost(_ orientation: ImageOrientation, _ format: ImageFormat) -> Int {
            DecodeCost(of: ImageHeader(format: format, storedSize: size, orientation: orientation), options).byteCount
        }
        let bytesPerPixel = isWide ? 8 : 4
        for format in [ImageFormat.png, .webp] {
            #expect(cost(.down, format) == (size.pixelCount + 2 * 500 * 250) * bytesPerPixel)
            #expect(cost(.up, format) == (size.pixelCount + 500 * 250) * bytesPerPixel)
        }
    }

    @Test("The chunks of a PNG count when there are several, up to what its rows can need")
    func chunks() throws {
        func cost(_ parts: [Int], animated: [String] = []) throws -> Int {
            let header: [UInt8] = [0, 0, 0, 100, 0, 0, 0, 100, 8, 6, 0, 0, 0]
            var chunks = [("IHDR", header)]
            for name in animated where name != "fdAT" { chunks.append((name, [UInt8](repeating: 0, count: 26))) }
            chunks += parts.map { ("IDAT", [UInt8](repeating: 0, count: $0)) }
            if animated.contains("fdAT") { chunks += [("fcTL", []), ("fdAT", [UInt8](repeating: 0, count: 504))] }
            let file = TestImage.png(chunks + [("IEND", [])])
            return DecodeCost(of: try #require(ImageHeader(reading: file)), DecodeOptions()).byteCount - 40_000
        }
        #expect(try cost([900]) == 0)
        #expect(try cost([900, 100]) == 1000)
        // Four bytes a pixel, a filter type a row, and what deflate adds.
        #expect(try cost([100_000, 100_000]) == 40_100 + 40 + 65_536)
        // The frame, its file and the copy; or those of a frame behind the default image.
        #expect(try cost([900, 100], animated: ["acTL", "fcTL"]) == 40_000 + 2 * 1000)
        #expect(try cost([900, 100], animated: ["acTL", "fdAT"]) == 40_000 + 2 * 500)
    }

    @Test("The row of a JPEG that is stretched into a square is not divided, and counts whole")
    func stretched() {
        let size = PixelSize(width: 65_500, height: 300)
        var options = DecodeOptions()
        options.size = .stretch(PixelSize(width: 200, height: 200))
        let cost = DecodeCost(of: ImageHeader(format: .jpeg, storedSize: size), options)
        #expect(cost.byteCount >= size.pixelCount * 4)
        // One that is shown as a whole is divided by eight.
        options.size = .contain(PixelSize(width: 200, height: 200))
        #expect(DecodeCost(of: ImageHeader(format: .jpeg, storedSize: size), options).byteCount < size.pixelCount)
    }

    @Test("A drawing takes no more for its transformer than the size that is asked for")
    func drawing() {
        var options = DecodeOptions()
        options.size = .contain(PixelSize(width: 100, height: 100))
        let cost = DecodeCost.unknown(options)
        #expect(cost.finalByteCount(isChanged: true) == 120_000)
        #expect(cost.byteCount == 48 << 20)
    }
}
