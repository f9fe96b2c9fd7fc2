import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

/// A small file whose header claims more pixels than can be counted, or as many as its format can say.
struct LyingFile: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let format: ImageFormat
    let data: Data

    private init(_ description: String, _ format: ImageFormat, data: Data) {
        testDescription = description
        self.format = format
        self.data = data
    }

    static let all: [LyingFile] = [
        LyingFile("TIFF", .tiff, data: tiff(photometric: 2)),
        LyingFile("TIFF that libtiff converts", .tiff, data: tiff(photometric: 6)),
        LyingFile("TIFF of tiles", .tiff, data: tiff(photometric: 2, tileSide: 16)),
        LyingFile("BMP of 24 bits", .bmp, data: bitmap(bitCount: 24).file),
        LyingFile("BMP of 32 bits", .bmp, data: bitmap(bitCount: 32).file),
        LyingFile("BMP of runs", .bmp, data: bitmap(bitCount: 8, compression: 1).file),
        LyingFile("ICO of 32 bits", .ico, data: icon(bitmap(bitCount: 32).header() + pixels)),
        LyingFile("ICO of runs", .ico, data: icon(bitmap(bitCount: 8, compression: 1).header() + pixels)),
        LyingFile("ICO of a PNG", .ico, data: icon(Array(png(side: .max)))),
        LyingFile("PNG", .png, data: png(side: 0x7FFF_FFFF)),
        LyingFile("PNG beyond its format", .png, data: png(side: .max)),
        LyingFile("GIF", .gif, data: Data(Array("GIF89a".utf8) + [255, 255, 255, 255, 0, 0, 0, 0x3B])),
        LyingFile("WebP", .webp, data: webP),
        LyingFile("PNM", .unknown, data: pnm("4294967295")),
        LyingFile("PNM beyond 64 bits", .unknown, data: pnm("99999999999999999999")),
    ]

    private static let pixels = [UInt8](repeating: 1, count: 64)

    private static func tiff(photometric: UInt64, tileSide: Int? = nil) -> Data {
        let entries: [(tag: Int, value: UInt64)] = [(256, 0xFFFF_FFFF), (257, 0xFFFF_FFFF), (262, photometric)]
        let changes = entries.map { TestTIFF.Entry(tag: $0.tag, type: 4, values: [$0.value]) }
        return TestTIFF(tileSide: tileSide, changes: changes).file
    }

    private static func bitmap(bitCount: Int, compression: UInt32 = 0) -> TestBitmap {
        let side = Int(Int32.max)
        var bitmap = TestBitmap(width: side, height: side, bitCount: bitCount, compression: compression)
        bitmap.pixels = pixels
        return bitmap
    }

    private static func icon(_ image: [UInt8]) -> Data {
        let entry = [UInt8](repeating: 0, count: 8) + TestBitmap.long(UInt32(image.count)) + TestBitmap.long(22)
        return Data([0, 0, 1, 0, 1, 0] + entry + image)
    }

    private static func png(side: UInt32) -> Data {
        let number = Array(TestBitmap.long(side).reversed())
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        return Data(
            signature + TestImage.chunk("IHDR", number + number + [8, 2, 0, 0, 0]) + TestImage.chunk("IDAT", [1])
        )
    }

    /// The canvas of an extended file has up to 24 bits a side.
    private static var webP: Data {
        let contents = Array("WEBPVP8X".utf8) + TestBitmap.long(10) + [2, 0, 0, 0] + [UInt8](repeating: 255, count: 6)
        return Data(Array("RIFF".utf8) + TestBitmap.long(UInt32(contents.count)) + contents)
    }

    private static func pnm(_ side: String) -> Data { Data("P6 \(side) \(side) 255\n".utf8) + Data(pixels) }
}
