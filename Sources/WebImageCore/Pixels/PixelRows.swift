import Glibc

/// Rows of pixels as decoders write them: possibly padded, in stored orientation, with straight or premultiplied alpha.
package struct PixelRows {
    /// The first byte of the top row.
    package let start: UnsafeRawPointer
    /// Width and height in pixels as stored.
    package let size: PixelSize
    /// Bytes from one row to the next.
    package let bytesPerRow: Int
    package let layout: Layout

    /// How a pixel is stored, 8 bits a channel.
    package enum Layout: Sendable {
        /// Three bytes: red, green, blue.
        case rgb
        /// Four bytes: red, green, blue, and an unused one.
        case rgbx
        /// Four bytes: red, green, blue, straight alpha.
        case rgba
        /// Four bytes: red, green, blue, premultiplied alpha.
        case premultiplied

        package var bytesPerPixel: Int { self == .rgb ? 3 : 4 }
    }

    /// - Parameter bytesPerRow: Default: rows without padding.
    package init(start: UnsafeRawPointer, size: PixelSize, bytesPerRow: Int? = nil, layout: Layout) {
        (self.start, self.size, self.layout) = (start, size, layout)
        self.bytesPerRow = bytesPerRow ?? size.width * layout.bytesPerPixel
    }
}

extension PixelBuffer {
    /// Copies rows, orients them and premultiplies alpha, all in one pass.
    package convenience init?(_ rows: PixelRows, orientation: ImageOrientation) {
        let hasAlpha = rows.layout == .rgba || rows.layout == .premultiplied
        let format = hasAlpha ? Format.rgbaPremultiplied : .rgb
        let path = RowPath(rows, orientation)
        self.init(size: orientation.apply(to: rows.size), format: format) { memory in
            let target = memory.baseAddress!
            if rows.layout.bytesPerPixel == format.bytesPerPixel, rows.layout != .rgba, orientation == .up {
                let count = rows.size.width * format.bytesPerPixel
                for y in 0..<rows.size.height {
                    (target + y * count).copyMemory(from: rows.start + y * rows.bytesPerRow, byteCount: count)
                }
            } else if rows.layout == .rgbx, orientation == .up {
                for y in 0..<rows.size.height {
                    Self.pack(
                        rows.start + y * rows.bytesPerRow,
                        into: target + y * rows.size.width * 3,
                        rows.size.width
                    )
                }
            } else if rows.layout == .premultiplied {
                path.forEachPixel(writing: target, bytesPerPixel: 4) { source, target in
                    (target[0], target[1], target[2], target[3]) = (source[0], source[1], source[2], source[3])
                }
            } else if rows.layout == .rgba {
                path.forEachPixel(writing: target, bytesPerPixel: 4) { source, target in
                    premultiply(source, into: target)
                }
            } else {
                path.forEachPixel(writing: target, bytesPerPixel: 3) { source, target in
                    target[0] = source[0]
                    target[1] = source[1]
                    target[2] = source[2]
                }
            }
        }
    }
}

extension PixelBuffer {
    /// Drops the fourth byte of each pixel, four pixels at a time. The target may have the same start as the source.
    static func pack(_ source: UnsafeRawPointer, into target: UnsafeMutableRawPointer, _ count: Int) {
        func pixel(_ index: Int) -> UInt32 {
            UInt32(littleEndian: source.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self)) & 0xFF_FFFF
        }
        func store(_ word: UInt32, _ offset: Int) {
            target.storeBytes(of: word.littleEndian, toByteOffset: offset, as: UInt32.self)
        }
        var index = 0
        while index + 4 <= count {
            let (a, b, c, d) = (pixel(index), pixel(index + 1), pixel(index + 2), pixel(index + 3))
            store(a | b << 24, index * 3)
            store(b >> 8 | c << 16, index * 3 + 4)
            store(c >> 16 | d << 8, index * 3 + 8)
            index += 4
        }
        while index < count {
            (target + index * 3).copyMemory(from: source + index * 4, byteCount: 3)
            index += 1
        }
    }

    /// Copies the first rows of an arriving image and leaves the others transparent.
    fileprivate convenience init?(top count: Int, of rows: PixelRows) {
        let (width, pixel) = (rows.size.width, rows.layout.bytesPerPixel)
        let count = min(count, rows.size.height)
        let missing = (rows.size.height - count) * width * 4
        self.init(size: rows.size, format: .rgbaPremultiplied) { memory in
            let target = memory.bindMemory(to: UInt32.self).baseAddress!
            for y in 0..<count {
                let source = (rows.start + y * rows.bytesPerRow).assumingMemoryBound(to: UInt8.self)
                let line = target + y * width
                for x in 0..<width {
                    let color = source + x * pixel
                    line[x] = UInt32(color[0]) | UInt32(color[1]) << 8 | UInt32(color[2]) << 16
                    line[x] |= pixel == 4 && rows.layout != .rgbx ? UInt32(color[3]) << 24 : 0xFF00_0000
                }
            }
            let there = memory.count - missing
            if rows.layout == .rgba { PixelBuffer.multiplyAlpha(in: .init(rebasing: memory[..<there])) }
            memset(memory.baseAddress! + there, 0, missing)
        }
    }
}

/// The order in which stored pixels are read to make an upright copy.
struct RowPath {
    let size: PixelSize
    let start: UnsafePointer<UInt8>
    let columnStep: Int
    let rowStep: Int

    init(_ rows: PixelRows, _ orientation: ImageOrientation) {
        self.init(
            rows.start,
            rows.size,
            bytesPerRow: rows.bytesPerRow,
            bytesPerPixel: rows.layout.bytesPerPixel,
            orientation: orientation
        )
    }

    init(
        _ memory: UnsafeRawPointer,
        _ stored: PixelSize,
        bytesPerRow row: Int,
        bytesPerPixel pixel: Int,
        orientation: ImageOrientation
    ) {
        let right = (stored.width - 1) * pixel
        let bottom = (stored.height - 1) * row
        let first: Int
        switch orientation {
        case .up: (first, columnStep, rowStep) = (0, pixel, row)
        case .upMirrored: (first, columnStep, rowStep) = (right, -pixel, row)
        case .down: (first, columnStep, rowStep) = (right + bottom, -pixel, -row)
        case .downMirrored: (first, columnStep, rowStep) = (bottom, pixel, -row)
        case .leftMirrored: (first, columnStep, rowStep) = (0, row, pixel)
        case .right: (first, columnStep, rowStep) = (bottom, -row, pixel)
        case .rightMirrored: (first, columnStep, rowStep) = (right + bottom, -row, -pixel)
        case .left: (first, columnStep, rowStep) = (right, row, -pixel)
        }
        start = (memory + first).assumingMemoryBound(to: UInt8.self)
        size = orientation.apply(to: stored)
    }

    @inline(__always)
    func forEachPixel(
        writing target: UnsafeMutableRawPointer,
        bytesPerPixel: Int,
        _ body: (UnsafePointer<UInt8>, UnsafeMutablePointer<UInt8>) -> Void
    ) {
        var output = target.assumingMemoryBound(to: UInt8.self)
        for y in 0..<size.height {
            var source = start + y * rowStep
            for _ in 0..<size.width {
                body(source, output)
                source += columnStep
                output += bytesPerPixel
            }
        }
    }
}

@inline(__always)
private func premultiply(_ source: UnsafePointer<UInt8>, into target: UnsafeMutablePointer<UInt8>) {
    let alpha = UInt32(source[3])
    // This division by 255 rounds to nearest, and is exact for all products of two bytes.
    func scaled(_ channel: UInt8) -> UInt8 {
        let product = UInt32(channel) * alpha + 128
        return UInt8(truncatingIfNeeded: (product + product >> 8) >> 8)
    }
    target[0] = scaled(source[0])
    target[1] = scaled(source[1])
    target[2] = scaled(source[2])
    target[3] = source[3]
}

extension PixelRows {
    /// The first rows of an arriving image, upright and at another size.
    /// - Parameters:
    ///   - count: The number of rows that have arrived. The others are transparent.
    ///   - target: The size of the whole image before orientation.
    /// - Returns: `nil` if out of memory.
    package func resized(
        top count: Int,
        to target: PixelSize,
        orientation: ImageOrientation
    ) -> PixelBuffer? {
        guard count < size.height else { return resized(to: target, orientation: orientation) }
        return PixelBuffer(top: count, of: self)?.resized(to: target, orientation: orientation)
    }
}

extension PixelBuffer {
    /// The pixels as rows, valid while the buffer is retained.
    package var rows: PixelRows {
        PixelRows(
            start: baseAddress,
            size: size,
            bytesPerRow: bytesPerRow,
            layout: hasAlpha ? .premultiplied : .rgb
        )
    }

    /// The image with an orientation applied.
    package func oriented(_ orientation: ImageOrientation) -> PixelBuffer? {
        resized(to: size, orientation: orientation)
    }
}
