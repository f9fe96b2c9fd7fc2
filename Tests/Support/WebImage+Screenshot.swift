import Foundation
package import WebImageCore

extension WebImage {
    /// The number of pixels of each colour (0xRRGGBB) in the image or in a part of it.
    package func colors(x: Range<Int>? = nil, y: Range<Int>? = nil) -> [UInt32: Int] {
        let (pixels, size) = (pixels, pixels.size)
        let (columns, rows) = ((x ?? 0..<size.width).clamped(to: 0..<size.width), (y ?? 0..<size.height))
        let (step, bytesPerRow) = (pixels.format.bytesPerPixel, pixels.bytesPerRow)
        var counts: [UInt32: Int] = [:]
        pixels.withUnsafeBytes { bytes in
            // Runs of a colour are counted at once, and rows like the last one are not looked at: a look-up for each pixel takes
            // long.
            var runs: [(color: UInt32, length: Int)] = []
            var last: UnsafeRawPointer?
            for row in rows.clamped(to: 0..<size.height) {
                let start = bytes.baseAddress! + row * bytesPerRow + columns.lowerBound * step
                if last.map({ memcmp($0, start, columns.count * step) }) != 0 {
                    runs.removeAll(keepingCapacity: true)
                    var run: (color: UInt32, length: Int) = (0, 0)
                    var (pixel, left) = (start, columns.count)
                    while left > 0 {
                        // Red, green and blue: there may be no fourth byte.
                        let word =
                            UInt32(pixel.loadUnaligned(as: UInt16.self)) | UInt32(
                                pixel.load(fromByteOffset: 2, as: UInt8.self)
                            ) << 16
                        if word != run.color, run.length > 0 {
                            runs.append(run)
                            run.length = 0
                        }
                        run = (word, run.length + 1)
                        pixel += step
                        left -= 1
                    }
                    if run.length > 0 { runs.append(run) }
                    last = start
                }
                for run in runs { counts[run.color.bigEndian >> 8, default: 0] += run.length }
            }
        }
        return counts
    }

    /// How often another image is seen in this one, a screenshot, at its own size. Small differences of scaling do not count.
    /// - Parameters:
    ///   - size: The size of the part that is seen, the middle one.
    ///   - tolerance: The mean difference of a channel that does not count.
    package func count(of other: WebImage, size: PixelSize, tolerance: Int = 13) -> Int {
        let (own, seen) = (pixels, other.pixels)
        let corner = (x: (seen.size.width - size.width) / 2, y: (seen.size.height - size.height) / 2)
        // Sixty-four points, in an order that looks all over the image before it looks closely.
        let points = (0..<64).map { index in
            let mixed = index * 37 % 64
            return (x: (mixed % 8 + 1) * size.width / 9, y: (mixed / 8 + 1) * size.height / 9)
        }
        var found: [(x: Int, y: Int)] = []
        own.withUnsafeBytes { bytes in
            seen.withUnsafeBytes { other in
                guard let bytes = bytes.baseAddress, let other = other.baseAddress else { return }
                // Where each point is in either image, in bytes.
                let offsets = points.map { point in
                    (
                        here: own.offset(x: point.x, y: point.y),
                        there: seen.offset(x: corner.x + point.x, y: corner.y + point.y)
                    )
                }
                for y in 0..<max(0, own.size.height - size.height) {
                    var start = bytes + y * own.bytesPerRow
                    for x in 0..<max(0, own.size.width - size.width) {
                        if Self.matches(start, other, offsets, tolerance),
                            !found.contains(where: {
                                abs($0.x - x) < size.width / 2 && abs($0.y - y) < size.height / 2
                            })
                        {
                            found.append((x, y))
                        }
                        start += own.format.bytesPerPixel
                    }
                }
            }
        }
        return found.count
    }

    /// Whether the mean difference of the points is less than the tolerance. Gives up as soon as it is far above.
    private static func matches(
        _ own: UnsafeRawPointer,
        _ other: UnsafeRawPointer,
        _ offsets: [(here: Int, there: Int)],
        _ tolerance: Int
    ) -> Bool {
        var limit = 300
        var sum = 0
        for offset in offsets {
            let (a, b) = (own + offset.here, other + offset.there)
            sum += abs(Int(a.load(as: UInt8.self)) - Int(b.load(as: UInt8.self)))
            sum += abs(Int(a.load(fromByteOffset: 1, as: UInt8.self)) - Int(b.load(fromByteOffset: 1, as: UInt8.self)))
            sum += abs(Int(a.load(fromByteOffset: 2, as: UInt8.self)) - Int(b.load(fromByteOffset: 2, as: UInt8.self)))
            limit += tolerance * 3
            if sum > limit { return false }
        }
        return sum < offsets.count * tolerance * 3
    }
}

extension PixelBuffer {
    /// Where a pixel begins, in bytes.
    fileprivate func offset(x: Int, y: Int) -> Int { y * bytesPerRow + x * format.bytesPerPixel }
}
