/// The layer that is drawn over an image.
enum BlendSource {
    /// A packed pixel for the whole image.
    case color(UInt32)
    /// Pixels with the position of their upper left corner, which may be outside the image.
    case pixels(PixelBuffer, x: Int, y: Int)
}

extension PixelBuffer {
    /// The image with a layer drawn over it; `nil` if out of memory.
    func blended(with source: BlendSource, _ mode: ImageTransformer.BlendMode) -> PixelBuffer? {
        guard let backdrop = converted(to: format) else { return nil }
        return PixelBuffer(size: size, format: format) { memory in
            backdrop.withUnsafeBytes { memory.copyMemory(from: $0) }
            switch source {
            case .color(let pixel):
                Swift.withUnsafeBytes(of: pixel.littleEndian) { bytes in
                    let row = BlendRow(source: bytes.baseAddress!, sourceStep: 0, count: size.pixelCount)
                    row.blend(mode, from: backdrop.baseAddress, to: memory.baseAddress!, format)
                }
            case .pixels(let pixels, let x, let y):
                let rect = PixelRect(x: x, y: y, width: pixels.size.width, height: pixels.size.height)
                guard let part = rect.clipped(to: size) else { return }
                pixels.withUnsafeBytes { bytes in
                    let step = pixels.format.bytesPerPixel
                    for line in 0..<part.size.height {
                        let start = (part.y - y + line) * pixels.bytesPerRow + (part.x - x) * step
                        let row = BlendRow(
                            source: bytes.baseAddress! + start,
                            sourceStep: step,
                            count: part.size.width
                        )
                        let offset = (part.y + line) * backdrop.bytesPerRow + part.x * format.bytesPerPixel
                        row.blend(mode, from: backdrop.baseAddress + offset, to: memory.baseAddress! + offset, format)
                    }
                }
            }
        }
    }
}

/// A row of source pixels.
private struct BlendRow {
    let source: UnsafeRawPointer
    /// The bytes from one pixel to the next: 0 for a color, 3 for pixels without alpha.
    let sourceStep: Int
    let count: Int

    /// Blends the row with a row of the backdrop.
    func blend(
        _ mode: ImageTransformer.BlendMode,
        from backdrop: UnsafeRawPointer,
        to target: UnsafeMutableRawPointer,
        _ format: PixelBuffer.Format
    ) {
        let step = format.bytesPerPixel
        // Inlining compiles a separate loop for each mode.
        @inline(__always) func each(_ mix: (_ source: BlendPixel, _ backdrop: BlendPixel) -> BlendPixel) {
            var (from, under, to) = (source, backdrop, target)
            for _ in 0..<count {
                let top = BlendPixel(from, byteCount: sourceStep == 3 ? 3 : 4)
                mix(top, BlendPixel(under, byteCount: step)).store(to, byteCount: step)
                from += sourceStep
                under += step
                to += step
            }
        }
        switch mode {
        case .sourceOver: each { top, under in top + under.outside(top) }
        case .sourceAtop: each { top, under in top.inside(under) + under.outside(top) }
        case .multiply: each { top, under in top.around(under) + top * under * BlendPixel.unit }
        case .screen: each { top, under in top + under - top * under * BlendPixel.unit }
        case .overlay: each { top, under in top.around(under) + top.overlay(under) }
        case .darken: each { top, under in top.around(under) + pointwiseMin(top.inside(under), under.inside(top)) }
        case .lighten: each { top, under in top.around(under) + pointwiseMax(top.inside(under), under.inside(top)) }
        case .softLight: each { top, under in top.around(under) + top.softLight(under) }
        }
    }
}

/// A premultiplied pixel with channels from 0 to 255. Products of two channels are exact, and dividing them by 255 never yields a
/// value halfway between two levels, so rounding is exact.
private typealias BlendPixel = SIMD4<Float>

extension BlendPixel {
    fileprivate static let unit: Float = 1.0 / 255

    /// Reads a pixel of 4 bytes, or an opaque pixel of 3 bytes.
    @inline(__always)
    fileprivate init(_ memory: UnsafeRawPointer, byteCount: Int) {
        if byteCount == 4 {
            self.init(memory.loadUnaligned(as: SIMD4<UInt8>.self))
        } else {
            let bytes = memory.assumingMemoryBound(to: UInt8.self)
            self.init(SIMD4<UInt8>(bytes[0], bytes[1], bytes[2], 255))
        }
    }

    /// Writes the rounded pixel to 4 bytes, or without its alpha to 3 bytes.
    @inline(__always)
    fileprivate func store(_ memory: UnsafeMutableRawPointer, byteCount: Int) {
        // Adding 2^23 rounds a float to an integer, which is in the lowest bits of the sum.
        let bits = unsafeBitCast(self + 8_388_608, to: SIMD4<UInt32>.self)
        let bytes = SIMD4<UInt8>(truncatingIfNeeded: bits)
        if byteCount == 4 {
            memory.storeBytes(of: bytes, as: SIMD4<UInt8>.self)
        } else {
            let target = memory.assumingMemoryBound(to: UInt8.self)
            (target[0], target[1], target[2]) = (bytes.x, bytes.y, bytes.z)
        }
    }

    /// The part of the pixel that another one covers.
    @inline(__always)
    fileprivate func inside(_ other: BlendPixel) -> BlendPixel { self * other.w * Self.unit }

    /// The part of the pixel that another one does not cover.
    @inline(__always)
    fileprivate func outside(_ other: BlendPixel) -> BlendPixel { self * (255 - other.w) * Self.unit }

    /// The parts of both pixels outside each other.
    @inline(__always)
    fileprivate func around(_ other: BlendPixel) -> BlendPixel { outside(other) + other.outside(self) }

    // The blended colors of the overlap. Their alpha is the alpha of the overlap.

    @inline(__always)
    fileprivate func overlay(_ under: BlendPixel) -> BlendPixel {
        let dark = 2 * (self * under)
        let light = self.w * under.w - 2 * ((under.w - under) * (self.w - self))
        return dark.replacing(with: light, where: under + under .> under.w) * Self.unit
    }

    @inline(__always)
    fileprivate func softLight(_ under: BlendPixel) -> BlendPixel {
        let (top, base) = (straight, under.straight)
        // Separate steps take the compiler a millisecond to type-check, one expression half a second.
        let slope = 16 * base - 12
        let steep = (slope * base + 4) * base
        let lightened = base.squareRoot().replacing(with: steep, where: base .<= 0.25) - base
        let strength = 2 * top - 1
        let dark = base + strength * base * (1 - base)
        let light = base + strength * lightened
        return dark.replacing(with: light, where: top .> 0.5) * (self.w * under.w * Self.unit)
    }

    /// The colors from 0 to 1 with straight alpha, which is 1; zero for a transparent pixel.
    @inline(__always)
    private var straight: BlendPixel { self.w > 0 ? self / self.w : .zero }
}
