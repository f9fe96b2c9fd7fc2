import Foundation
import TestSupport
import Testing
import WebImageTesting

@testable import WebImageCore

@Suite("The bytes a pixel that the page on formats in detail names")
struct DecodeCostTableTests {
    /// The numbers in the second column of the table, by its first.
    private static let table: [String: [Int]] = {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = root.appending(path: "Sources/GtkWebImage/GtkWebImage.docc/FormatsInDetail.md")
        let lines = (try? String(contentsOf: page, encoding: .utf8))?.split(separator: "\n") ?? []
        let rows = lines.drop { !$0.hasPrefix("| Format | Bytes |") }.dropFirst(2).prefix { $0.hasPrefix("|") }
        return rows.reduce(into: [:]) { table, row in
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let words = cells[1].split { !$0.isLetter && !$0.isNumber }
            table[cells[0]] = words.compactMap { Int($0) }
        }
    }()

    private let size = PixelSize(width: 64, height: 64)

    /// The bytes that a file takes, as many as one of 64 x 64 pixels has.
    private func cost(_ file: Data, _ options: DecodeOptions = DecodeOptions()) throws -> Int {
        let header = try #require(ImageHeader(reading: file))
        #expect(header.storedSize == size)
        return DecodeCost(of: header, options).byteCount
    }

    /// The bytes a pixel.
    private func bytes(_ file: Data) throws -> Int { try cost(file) / size.pixelCount }

    /// The head of an AVIF file.
    /// - Parameter bits: The third byte of the AV1 codec's configuration.
    private func video(_ bits: UInt8) -> Data {
        func box(_ name: String, _ contents: [UInt8]) -> [UInt8] {
            [0, 0, 0, UInt8(contents.count + 8)] + Array(name.utf8) + contents
        }
        let extents = box("ispe", [0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 64])
        let properties = extents + box("av1C", [0x81, 0, bits, 0])
        let meta = box("meta", [0, 0, 0, 0] + box("iprp", box("ipco", properties)))
        return Data(box("ftyp", Array("avif".utf8) + [0, 0, 0, 0]) + meta + box("mdat", [1]))
    }

    @Test("They are those that a decode reserves, in each row")
    func rows() throws {
        let pixels = size.pixelCount
        let jpeg = Bomb.progressiveJPEG(side: 64)
        var halved = jpeg
        let factors = try #require(halved.firstRange(of: [1, 0x11, 0, 2, 0x11, 0]))
        halved[factors.lowerBound + 1] = 0x22
        let inks = Bomb.progressiveJPEG(side: 64, channels: 4)
        let withPlane = Bomb.webP(Bomb.extended(side: 64, flags: 0x10) + Bomb.chunk("ALPH", [0]))
        let still = TestImage.solid(0, size: size, format: .jpeg)
        let stream = Bomb.storedRows(side: 64).count
        let unknown = DecodeCost.unknown(DecodeOptions())
        let expected: [String: [Int]] = [
            "PNG, BMP, ICO, lossy WebP": [try bytes(Bomb.png(width: 64, height: 64))],
            "PNG in several chunks of pixels": [try (cost(Bomb.stored(side: 64)) - stream) / pixels],
            "JPEG": [try bytes(still)],
            "progressive JPEG, or one in several scans": try [jpeg, halved, inks].map { try bytes($0) - 4 },
            "GIF": [try bytes(Bomb.gif(side: 64, frames: 1))],
            "lossless WebP": try [Bomb.webP(side: 64), withPlane, Bomb.animatedWebP(side: 64)].map(bytes),
            "animated PNG": [try (cost(Bomb.stored(side: 64, isAnimated: true)) - 2 * stream) / pixels],
            "TIFF": [try (cost(Bomb.tiff(side: 64)) - pixels * 3) / pixels],
            "AVIF, HEIF": try [0x0C, 0, 0x4C, 0x40].map { try bytes(video($0)) },
            "JPEG XL": try [
                // 64 x 64 pixels with defaults; with alpha; with 10 bits a channel; with an animation.
                [0xFF, 0x0A, 0x4F, 0x02], [0xFF, 0x0A, 0x4F, 0xC0, 0x00], [0xFF, 0x0A, 0x4F, 0x50, 0x00],
                [0xFF, 0x0A, 0x4F, 0x04, 0x01, 0x08],
            ].map { try bytes(Data($0)) },
            "SVG and others": [unknown.byteCount / unknown.pixelCount],
        ]
        #expect(Self.table == expected)
        // A 4th, 16th or 64th of a JPEG.
        for divisor in [2, 4, 8] {
            let side = 64 / divisor
            let options = DecodeOptions(size: .contain(PixelSize(width: side, height: side)))
            #expect(try cost(still, options) == pixels * 4 / (divisor * divisor))
        }
    }
}
