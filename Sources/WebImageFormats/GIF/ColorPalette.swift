import WebImageCore

/// The colors of a frame, at most 256.
///
/// The colors are found by splitting the set of colors where the variance drops most, and then moving each color to the mean of its
/// pixels (Lloyd's algorithm). The result is within a decibel of libimagequant, which is under the GPL. Other libraries omit the
/// second step.
struct ColorPalette {
    /// The packed colors, with red in the lowest byte.
    private(set) var colors: [UInt32] = []
    /// Whether each pixel has its exact color.
    private(set) var isExact = false
    /// The index of each color, if they are exact.
    private var exact: [UInt32: UInt8] = [:]
    /// The index of the nearest color for six bits of each channel; 256 if unknown.
    private var nearest: [UInt16] = []

    /// - Parameters:
    ///   - pixels: The pixels. Transparent ones (0) have no color.
    ///   - limit: The largest number of colors.
    init(_ pixels: UnsafeBufferPointer<UInt32>, limit: Int) {
        if let exact = Self.exactColors(pixels, limit: limit) {
            (self.exact, isExact) = (exact, true)
            colors = exact.sorted { $0.value < $1.value }.map(\.key)
            return
        }
        var cells = ColorCells(pixels)
        colors = cells.palette(limit: limit)
        nearest = [UInt16](repeating: 256, count: 1 << 18)
    }

    /// Whether the palette contains the exact color of each pixel.
    func covers(_ pixels: UnsafeBufferPointer<UInt32>) -> Bool {
        isExact && pixels.allSatisfy { $0 == 0 || exact[$0 & 0xFF_FFFF] != nil }
    }

    private static func exactColors(_ pixels: UnsafeBufferPointer<UInt32>, limit: Int) -> [UInt32: UInt8]? {
        var colors: [UInt32: UInt8] = [:]
        var last: UInt32 = 0
        for pixel in pixels where pixel != 0 && pixel != last {
            last = pixel
            guard colors[pixel & 0xFF_FFFF] == nil else { continue }
            guard colors.count < limit else { return nil }
            colors[pixel & 0xFF_FFFF] = UInt8(colors.count)
        }
        return colors
    }

    /// Writes the indices of the colors of a frame, row by row.
    /// - Parameter transparent: The index for transparent pixels.
    mutating func write(
        _ pixels: UnsafeBufferPointer<UInt32>,
        width: Int,
        transparent: UInt8,
        to indices: UnsafeMutableBufferPointer<UInt8>
    ) {
        guard isExact else {
            return writeDithered(pixels, width: width, transparent: transparent, to: indices)
        }
        for index in pixels.indices {
            let pixel = pixels[index]
            indices[index] = pixel == 0 ? transparent : exact[pixel & 0xFF_FFFF] ?? 0
        }
    }

    /// Diffuses the error of each pixel to its successors (Floyd-Steinberg), in alternating directions.
    private mutating func writeDithered(
        _ pixels: UnsafeBufferPointer<UInt32>,
        width: Int,
        transparent: UInt8,
        to indices: UnsafeMutableBufferPointer<UInt8>
    ) {
        indices.update(repeating: transparent)
        // The errors of three channels in sixteenths for this row and the next, with a margin of one pixel on both sides.
        var errors = [Int32](repeating: 0, count: (width + 2) * 3)
        var below = errors
        for y in 0..<pixels.count / max(width, 1) {
            let isForwards = y % 2 == 0
            let step = isForwards ? 1 : -1
            for number in 0..<width {
                let x = isForwards ? number : width - 1 - number
                let pixel = pixels[y * width + x]
                let place = (x + 1) * 3
                guard pixel != 0 else { continue }
                var wanted = SIMD3(
                    Self.corrected(pixel, shift: 0, error: errors[place]),
                    Self.corrected(pixel, shift: 8, error: errors[place + 1]),
                    Self.corrected(pixel, shift: 16, error: errors[place + 2])
                )
                let index = nearestIndex(wanted)
                indices[y * width + x] = index
                wanted &-= colors[Int(index)].channels
                for channel in 0..<3 where wanted[channel] != 0 {
                    let error = wanted[channel]
                    errors[place + channel + step * 3] += error * 7
                    below[place + channel - step * 3] += error * 3
                    below[place + channel] += error * 5
                    below[place + channel + step * 3] += error
                }
            }
            swap(&errors, &below)
            for index in below.indices { below[index] = 0 }
        }
    }

    /// A channel plus half of its error; the whole error would add noise to faint gradients.
    @inline(__always)
    private static func corrected(_ pixel: UInt32, shift: UInt32, error: Int32) -> Int32 {
        min(255, max(0, Int32(pixel >> shift & 255) + (error / 2 + 8) >> 4))
    }

    @inline(__always)
    private mutating func nearestIndex(_ color: SIMD3<Int32>) -> UInt8 {
        let key = Int(color[0] >> 2 | (color[1] >> 2) << 6 | (color[2] >> 2) << 12)
        let known = nearest[key]
        if known < 256 { return UInt8(known) }
        // The middle of the cell represents all its colors.
        let found = colors.nearestIndex(to: color & ~3 | 2)
        nearest[key] = UInt16(found)
        return UInt8(found)
    }
}

extension UInt32 {
    fileprivate var channels: SIMD3<Int32> { SIMD3(Int32(self & 255), Int32(self >> 8 & 255), Int32(self >> 16 & 255)) }
}

extension [UInt32] {
    /// The index of the nearest color.
    fileprivate func nearestIndex(to color: SIMD3<Int32>) -> Int {
        withUnsafeBufferPointer { colors in
            var (best, least) = (0, Int32.max)
            for index in 0..<colors.count {
                let difference = colors[index].channels &- color
                let distance = (difference &* difference).wrappedSum()
                if distance < least { (best, least) = (index, distance) }
            }
            return best
        }
    }
}
