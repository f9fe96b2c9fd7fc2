import FoundationEssentials
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
