import FoundationEssentials
import Testing
import WebImageCore

@Suite("Copying decoded rows into upright buffers")
struct PixelBufferTests {
    // 3 x 2 pixels, numbered as stored; a row is padded to 12 bytes.
    private static let stored: [UInt8] = [
        1, 1, 1, 2, 2, 2, 3, 3, 3, 99, 99, 99,
        4, 4, 4, 5, 5, 5, 6, 6, 6, 99, 99, 99,
    ]

    @Test("Bytes become pixels in the memory that they are in, and keep it", arguments: [3, 50])
    func bytes(side: Int) throws {
        let size = PixelSize(width: side, height: side)
        var data = Data((0..<side * side * 3).map { UInt8(truncatingIfNeeded: $0) })
        let expected = Array(data)
        // When bytes behind others are taken, and the value changes afterwards
        data = Data([1, 2]) + data
        var pixels = PixelBuffer(data.dropFirst(2), size: size, format: .rgb, colors: .standard)
        data[2] = 255
        data = Data()
        // Then the pixels stay as they were
        #expect(pixels?.bytes == expected)
        // And the bytes of the pixels are those, longer than the pixels are needed
        let copy = pixels?.data
        pixels = nil
        #expect(copy.map { Array($0) } == expected)
    }

    @Test("What a closure throws that fills or reads pixels reaches the caller")
    func failures() throws {
        let size = PixelSize(width: 3, height: 2)
        let failure = ImageError(.badImageData, url: nil, reason: "a", remedy: "b")
        #expect(throws: ImageError.self) {
            try PixelBuffer(size: size, format: .rgb) { (_: UnsafeMutableRawBufferPointer) throws(ImageError) in
                throw failure
            }
        }
        let pixels = try PixelBuffer(size: size, format: .rgb) { memory throws(ImageError) in
            guard memory.count == 18 else { throw failure }
            memory.initializeMemory(as: UInt8.self, repeating: 7)
        }
        #expect(pixels?.withUnsafeBytes { bytes in bytes.reduce(0) { $0 + Int($1) } } == 18 * 7)
        #expect(throws: ImageError.self) { try pixels?.withUnsafeBytes { _ in throw failure } }
    }

    @Test("Bytes that are no pixels of a size are refused")
    func wrongBytes() {
        let size = PixelSize(width: 30, height: 20)
        let deep = PixelBuffer.Colors(gamut: .sRGB, isDeep: true)
        for count in [0, 1799, 1801, 2400] {
            #expect(PixelBuffer(Data(count: count), size: size, format: .rgb, colors: .standard) == nil)
        }
        #expect(PixelBuffer(Data(), size: PixelSize(width: 0, height: 4), format: .rgb, colors: .standard) == nil)
        let huge = PixelSize(width: Int.max / 2, height: 2)
        #expect(PixelBuffer(Data(count: 6), size: huge, format: .rgb, colors: .standard) == nil)
        // 16 bits a channel, at an address that is not even
        let bytes = (0..<3601).map { UInt8(truncatingIfNeeded: $0) }
        let pixels = PixelBuffer(Data(bytes).dropFirst(), size: size, format: .rgb, colors: deep)
        #expect(pixels?.bytes == Array(bytes.dropFirst()))
        #expect(pixels.map { UInt(bitPattern: $0.baseAddress) % 2 == 0 } == true)
    }

    @Test(
        "Each orientation is applied as EXIF defines it",
        arguments: [
            (ImageOrientation.up, [[1, 2, 3], [4, 5, 6]]),
            (.upMirrored, [[3, 2, 1], [6, 5, 4]]),
            (.down, [[6, 5, 4], [3, 2, 1]]),
            (.downMirrored, [[4, 5, 6], [1, 2, 3]]),
            (.leftMirrored, [[1, 4], [2, 5], [3, 6]]),
            (.right, [[4, 1], [5, 2], [6, 3]]),
            (.rightMirrored, [[6, 3], [5, 2], [4, 1]]),
            (.left, [[3, 6], [2, 5], [1, 4]]),
        ] as [(ImageOrientation, [[UInt8]])]
    )
    func orientation(orientation: ImageOrientation, expected: [[UInt8]]) throws {
        let buffer = try #require(Self.copy(Self.stored, .rgb, bytesPerRow: 12, orientation))
        #expect(buffer.size == PixelSize(width: expected[0].count, height: expected.count))
        #expect(buffer.bytesPerRow == buffer.size.width * 3)
        #expect(buffer.bytes == expected.flatMap { row in row.flatMap { [$0, $0, $0] } })
    }

    @Test("Straight alpha is premultiplied and rounded to nearest")
    func premultiplied() throws {
        let row: [UInt8] = [255, 128, 1, 128, 10, 20, 30, 0, 200, 100, 50, 255]
        let buffer = try #require(Self.copy(row, .rgba, bytesPerRow: 12, .up, size: PixelSize(width: 3, height: 1)))
        #expect(buffer.format == .rgbaPremultiplied)
        #expect(buffer.bytes == [128, 64, 1, 128, 0, 0, 0, 0, 200, 100, 50, 255])
    }

    @Test("Rows that have not arrived yet are transparent")
    func partial() throws {
        let buffer = try #require(
            Self.stored.withUnsafeBytes { bytes in
                let rows = PixelRows(
                    start: bytes.baseAddress!,
                    size: PixelSize(width: 3, height: 2),
                    bytesPerRow: 12,
                    layout: .rgb
                )
                return rows.resized(top: 1, to: rows.size, orientation: .up)
            }
        )
        #expect(buffer.bytes == [1, 1, 1, 255, 2, 2, 2, 255, 3, 3, 3, 255] + [UInt8](repeating: 0, count: 12))
    }

    @Test("A size that is empty or larger than memory is rejected without a trap")
    func refused() {
        for size in [
            PixelSize(width: 0, height: 5), PixelSize(width: .max, height: .max), PixelSize(width: -1, height: 1),
        ] {
            #expect(PixelBuffer(size: size, format: .rgb) { _ in } == nil)
        }
    }

    private static func copy(
        _ bytes: [UInt8],
        _ layout: PixelRows.Layout,
        bytesPerRow: Int,
        _ orientation: ImageOrientation,
        size: PixelSize = PixelSize(width: 3, height: 2)
    ) -> PixelBuffer? {
        bytes.withUnsafeBytes { bytes in
            let rows = PixelRows(start: bytes.baseAddress!, size: size, bytesPerRow: bytesPerRow, layout: layout)
            return PixelBuffer(rows, orientation: orientation)
        }
    }

    @Test("A rectangle before any orientation is applied has the same pixels")
    func orientations() {
        let stored = PixelSize(width: 7, height: 5)
        for orientation in ImageOrientation.allCases {
            let upright = orientation.apply(to: stored)
            let pixels = PixelBuffer(size: stored, format: .rgb) { memory in
                for index in memory.indices { memory[index] = UInt8(index) }
            }
            let turned = pixels?.oriented(orientation)
            for rect in [
                PixelRect(x: 0, y: 0, width: 2, height: 3), PixelRect(x: 1, y: 2, width: 3, height: 2),
                PixelRect(x: upright.width - 1, y: upright.height - 2, width: 1, height: 2),
            ] {
                let part = pixels?.cropped(to: rect.stored(orientation, in: stored), orientation: orientation)
                let expected = turned?.cropped(to: rect)
                #expect(
                    part?.bytes == expected?.bytes && part?.size == rect.size,
                    "\(orientation) \(rect)"
                )
            }
        }
    }
}

extension PixelBuffer {
    var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
}
