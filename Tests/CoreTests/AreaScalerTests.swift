import Testing
import WebImageCore

@Suite("Downsampling")
struct AreaScalerTests {
    private func scale(_ size: PixelSize, to target: PixelSize, padding: Int = 0, _ color: (Int, Int) -> [UInt8])
        -> [UInt8]
    {
        let stride = size.width * 3 + padding
        var source = [UInt8](repeating: 77, count: stride * size.height)
        for y in 0..<size.height {
            for x in 0..<size.width {
                for (channel, value) in color(x, y).enumerated() { source[y * stride + x * 3 + channel] = value }
            }
        }
        var result = [UInt8](repeating: 0, count: target.pixelCount * 3)
        source.withUnsafeBytes { bytes in
            let rows = PixelRows(start: bytes.baseAddress!, size: size, bytesPerRow: stride, layout: .rgb)
            result.withUnsafeMutableBufferPointer { AreaScaler.scale(rows, to: target, into: $0.baseAddress!) }
        }
        return result
    }

    @Test("A solid colour stays bit-exact at any ratio")
    func flat() {
        for (width, target) in [(400, 256), (7, 3), (3, 2), (1000, 1), (5, 5), (129, 128), (2, 1)] {
            for value in [UInt8(0), 1, 127, 254, 255] {
                let size = PixelSize(width: width, height: width)
                let result = scale(size, to: PixelSize(width: target, height: max(1, target - 1)), padding: 5) { _, _ in
                    [value, 255 - value, value]
                }
                #expect(result.enumerated().allSatisfy { $1 == ($0 % 3 == 1 ? 255 - value : value) })
            }
        }
    }

    @Test(
        "At ratios beyond the precision of the weights a pixel is still a mean",
        arguments: [5000, 7000, 9000, 20_000]
    )
    func extreme(width: Int) {
        let size = PixelSize(width: width, height: 1)
        // Grey with one black pixel, which must weigh no more than its share.
        for black in [0, width / 2, width - 1] {
            let result = scale(size, to: PixelSize(width: 1, height: 1)) { x, _ in
                [UInt8](repeating: x == black ? 0 : 200, count: 3)
            }
            #expect(result.allSatisfy { (199...200).contains($0) }, "\(result)")
        }
    }

    /// A number that looks random and is the same each time.
    private func noise(_ index: Int) -> UInt8 {
        let number = UInt64(truncatingIfNeeded: index &+ 1) &* 0x9E37_79B9_7F4A_7C15
        return UInt8(truncatingIfNeeded: (number ^ number >> 29) &* 0xBF58_476D_1CE4_E5B9 >> 56)
    }

    @Test(
        "Scaled down by any ratio, every channel is the weighted mean of its area, rounded, to the last bit",
        arguments: [
            (400, 300, 256, 192), (97, 41, 31, 40), (300, 7, 299, 2), (33, 129, 2, 16), (64, 50, 64, 49), (5, 5, 4, 3),
        ],
        [PixelRows.Layout.rgb, .rgbx, .premultiplied]
    )
    func exactMeans(sizes: (Int, Int, Int, Int), layout: PixelRows.Layout) {
        let (size, target) = (PixelSize(width: sizes.0, height: sizes.1), PixelSize(width: sizes.2, height: sizes.3))
        let (step, channels) = (layout.bytesPerPixel, layout == .premultiplied ? 4 : 3)
        let source = (0..<size.pixelCount * step).map { noise($0) }
        var result = [UInt8](repeating: 0, count: target.pixelCount * channels)
        source.withUnsafeBytes { bytes in
            let rows = PixelRows(
                start: bytes.baseAddress!,
                size: size,
                bytesPerRow: size.width * step,
                layout: layout
            )
            result.withUnsafeMutableBufferPointer { AreaScaler.scale(rows, to: target, into: $0.baseAddress!) }
        }
        // The shares of the pixels of a side in one of the target, of which each is rounded to a 4096th.
        func shares(_ source: Int, _ target: Int, _ index: Int) -> [(index: Int, share: Int)] {
            let ratio = Double(source) / Double(target)
            let start = Double(index) * ratio
            func rounded(_ edge: Int) -> Int {
                Int((min(max(Double(edge) - start, 0), ratio) / ratio * 4096).rounded())
            }
            let count = min(Int(ratio.rounded(.up)) + 1, source)
            let first = min(Int(start), source - count)
            return (first..<first + count).map { edge in
                let end = edge + 1 == first + count ? 4096 : rounded(edge + 1)
                return (edge, end - (edge == first ? 0 : rounded(edge)))
            }
        }
        for y in 0..<target.height {
            for x in 0..<target.width {
                for channel in 0..<channels {
                    var sum = 0
                    for row in shares(size.height, target.height, y) {
                        for column in shares(size.width, target.width, x) {
                            let byte = source[(row.index * size.width + column.index) * step + channel]
                            sum += Int(byte) * row.share * column.share
                        }
                    }
                    let found = result[(y * target.width + x) * channels + channel]
                    guard Int(found) != (sum + 1 << 23) >> 24 else { continue }
                    Issue.record("\(found) at \(x), \(y) instead of \(Double(sum) / Double(1 << 24))")
                    return
                }
            }
        }
    }

    @Test("A fourth byte that is not used is left out, whatever it is", arguments: [(9, 4), (9, 8), (9, 9), (9, 20)])
    func unusedByte(side: Int, target: Int) throws {
        let size = PixelSize(width: side, height: side)
        let target = PixelSize(width: target, height: target)
        var (narrow, wide) = ([UInt8](), [UInt8]())
        for index in 0..<size.pixelCount {
            let color = [index * 37, index * 91, index * 13].map { UInt8($0 & 255) }
            narrow += color
            wide += color + [UInt8(index & 255)]
        }
        func scaled(_ bytes: [UInt8], _ layout: PixelRows.Layout) -> [UInt8]? {
            bytes.withUnsafeBytes { bytes in
                let row = side * layout.bytesPerPixel
                let rows = PixelRows(start: bytes.baseAddress!, size: size, bytesPerRow: row, layout: layout)
                return rows.resized(to: target, orientation: .right)?.withUnsafeBytes { Array($0) }
            }
        }
        let expected = try #require(scaled(narrow, .rgb))
        #expect(expected.count == target.pixelCount * 3 && scaled(wide, .rgbx) == expected)
    }

    @Test("At half the size each pixel is the mean of four")
    func half() {
        let size = PixelSize(width: 4, height: 2)
        let result = scale(size, to: PixelSize(width: 2, height: 1)) { x, y in [UInt8(x * 40 + y * 20), 0, 10] }
        #expect(result == [30, 0, 10, 110, 0, 10])
    }

    @Test(
        "At a whole ratio every byte is the exact mean of its area, in each layout",
        arguments: [(2, 2), (3, 3), (1, 5), (5, 1), (4, 255), (64, 64), (2, 256)]
    )
    func wholeRatio(columns: Int, rows: Int) throws {
        let target = PixelSize(width: 21, height: 3)
        let size = PixelSize(width: target.width * columns, height: target.height * rows)
        for layout in [PixelRows.Layout.rgb, .rgbx, .premultiplied] {
            let pixel = layout.bytesPerPixel
            let stride = size.width * pixel + 7
            let bytes = (0..<stride * size.height).map { UInt8(truncatingIfNeeded: $0 &* $0 &* 31 &+ $0 >> 3) }
            let scaled = try #require(
                bytes.withUnsafeBytes { bytes in
                    PixelRows(start: bytes.baseAddress!, size: size, bytesPerRow: stride, layout: layout)
                        .resized(to: target, orientation: .up)
                }
            )
            let channels = layout == .premultiplied ? 4 : 3
            let result = scaled.withUnsafeBytes { Array($0) }
            #expect(result.count == target.pixelCount * channels)
            for (index, value) in result.enumerated() {
                let (x, y) = (index / channels % target.width, index / channels / target.width)
                var sum = 0
                for row in y * rows..<(y + 1) * rows {
                    for column in x * columns..<(x + 1) * columns {
                        sum += Int(bytes[row * stride + column * pixel + index % channels])
                    }
                }
                let mean = Double(sum) / Double(columns * rows)
                #expect(abs(mean - Double(value)) < 0.52, "byte \(index) is \(value) instead of \(mean)")
            }
        }
    }

    @Test("Every source pixel contributes its share, so the mean of the image is preserved")
    func mean() {
        let size = PixelSize(width: 97, height: 61)
        let color = { (x: Int, y: Int) -> [UInt8] in
            (0..<3).map { UInt8(truncatingIfNeeded: x &* 31 &+ y &* 17 &+ $0 &* 90) }
        }
        var sum = 0
        for y in 0..<61 { for x in 0..<97 { sum += color(x, y).reduce(0) { $0 + Int($1) } } }
        for target in [
            PixelSize(width: 50, height: 33), PixelSize(width: 96, height: 60), PixelSize(width: 3, height: 2),
        ] {
            let result = scale(size, to: target, color)
            let mean = Double(result.reduce(0) { $0 + Int($1) }) / Double(result.count)
            #expect(abs(mean - Double(sum) / Double(97 * 61 * 3)) < 0.6)
        }
    }

    @Test("An edge keeps its position")
    func edge() {
        let result = scale(PixelSize(width: 300, height: 2), to: PixelSize(width: 100, height: 1)) { x, _ in
            x < 150 ? [0, 0, 0] : [255, 255, 255]
        }
        #expect(result[49 * 3] == 0 && result[50 * 3] == 255)
    }
}
