#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Rows of pixels as decoders leave them: padded, perhaps lying on their side, alpha not multiplied in.
package struct PixelRows {
    /// The first byte of the top row.
    package let start: UnsafeRawPointer
    /// Width and height in pixels as stored.
    package let size: PixelSize
    /// Bytes from one row to the next.
    package let bytesPerRow: Int
    /// How a pixel is stored.
    package let layout: Layout

    /// How a pixel is stored, 8 bits a channel.
    package enum Layout: Sendable {
        /// Three bytes: red, green, blue.
        case rgb
        /// Four bytes: red, green, blue, and one that means nothing.
        case rgbx
        /// Four bytes: red, green, blue, alpha, not multiplied.
        case rgba
        /// Four bytes: red, green, blue, alpha; the colours are multiplied by alpha.
        case premultiplied

        package var bytesPerPixel: Int { self == .rgb ? 3 : 4 }
    }

    package init(start: UnsafeRawPointer, size: PixelSize, bytesPerRow: Int, layout: Layout) {
        self.start = start
        self.size = size
        self.bytesPerRow = bytesPerRow
        self.layout = layout
    }
}

extension PixelBuffer {
    /// Copies rows, turning them upright and multiplying alpha in on the way: one pass, one copy.
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
    /// Copies the first `count` stored rows and leaves the others transparent: a picture that is still arriving.
    package convenience init?(top count: Int, of rows: PixelRows, orientation: ImageOrientation) {
        let width = rows.size.width
        guard let canvas = calloc(rows.size.pixelCount, 4) else { return nil }
        defer { free(canvas) }
        let pixel = rows.layout.bytesPerPixel
        for y in 0..<min(count, rows.size.height) {
            var source = (rows.start + y * rows.bytesPerRow).assumingMemoryBound(to: UInt8.self)
            var target = (canvas + y * width * 4).assumingMemoryBound(to: UInt8.self)
            for _ in 0..<width {
                target[0] = source[0]
                target[1] = source[1]
                target[2] = source[2]
                target[3] = rows.layout == .rgba ? source[3] : 255
                source += pixel
                target += 4
            }
        }
        let copy = PixelRows(start: canvas, size: rows.size, bytesPerRow: width * 4, layout: .rgba)
        self.init(copy, orientation: orientation)
    }
}

/// In which order stored pixels are read so that they come out upright.
private struct RowPath {
    let size: PixelSize
    let start: UnsafePointer<UInt8>
    let columnStep: Int
    let rowStep: Int

    init(_ rows: PixelRows, _ orientation: ImageOrientation) {
        let pixel = rows.layout.bytesPerPixel
        let row = rows.bytesPerRow
        let right = (rows.size.width - 1) * pixel
        let bottom = (rows.size.height - 1) * row
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
        start = (rows.start + first).assumingMemoryBound(to: UInt8.self)
        size = orientation.apply(to: rows.size)
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
    // Division by 255, rounded to nearest, exact for all products of two bytes.
    func scaled(_ channel: UInt8) -> UInt8 {
        let product = UInt32(channel) * alpha + 128
        return UInt8(truncatingIfNeeded: (product + product >> 8) >> 8)
    }
    target[0] = scaled(source[0])
    target[1] = scaled(source[1])
    target[2] = scaled(source[2])
    target[3] = source[3]
}
