#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Turned clockwise.
struct RotateStep: PixelTransforming {
    let degrees: Double
    let growsToFit: Bool

    var key: String { "rotate(\(degrees),\(growsToFit))" }
    var keepsNaturalSize: Bool { false }

    func transform(_ image: WebImage) -> WebImage? {
        guard let turned = apply(to: image.pixels, scale: 1) else { return nil }
        // As much larger as the pixels have become.
        let (before, natural) = (image.pixelSize, image.naturalSize)
        let density = Double(natural.width) / Double(before.width)
        return image.replacingPixels(turned, keepsNaturalSize: false).with { content in
            content.naturalSize = PixelSize(
                width: max(1, Int((Double(turned.size.width) * density).rounded())),
                height: max(1, Int((Double(turned.size.height) * density).rounded()))
            )
        }
    }

    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer? {
        let turn = (degrees.truncatingRemainder(dividingBy: 360) + 360).truncatingRemainder(dividingBy: 360)
        let isSquare = pixels.size.width == pixels.size.height
        switch turn {
        case 0: return pixels
        case 180: return pixels.turned(.down)
        case 90 where growsToFit || isSquare: return pixels.turned(.right)
        case 270 where growsToFit || isSquare: return pixels.turned(.left)
        default: return rotated(pixels, by: turn * .pi / 180)
        }
    }

    /// Each pixel is a mean of the four that lie around where it comes from.
    private func rotated(_ pixels: PixelBuffer, by angle: Double) -> PixelBuffer? {
        guard let source = pixels.converted(to: .rgbaPremultiplied) else { return nil }
        let (sine, cosine) = (sin(angle), cos(angle))
        let (width, height) = (Double(source.size.width), Double(source.size.height))
        var size = source.size
        if growsToFit {
            size = PixelSize(
                width: max(1, Int((abs(width * cosine) + abs(height * sine) - 0.01).rounded(.up))),
                height: max(1, Int((abs(width * sine) + abs(height * cosine) - 0.01).rounded(.up)))
            )
        }
        let (middleX, middleY) = (Double(size.width) / 2, Double(size.height) / 2)
        return PixelBuffer(size: size, format: .rgbaPremultiplied) { memory in
            let target = memory.bindMemory(to: UInt32.self).baseAddress!
            let from = source.baseAddress.assumingMemoryBound(to: UInt32.self)
            func pixel(_ x: Int, _ y: Int) -> SIMD4<Float> {
                guard x >= 0, y >= 0, x < source.size.width, y < source.size.height else { return .zero }
                return SIMD4<Float>(bytes: from[y * source.size.width + x])
            }
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let (dx, dy) = (Double(x) + 0.5 - middleX, Double(y) + 0.5 - middleY)
                    let sourceX = dx * cosine + dy * sine + width / 2 - 0.5
                    let sourceY = dy * cosine - dx * sine + height / 2 - 0.5
                    let (left, top) = (sourceX.rounded(.down), sourceY.rounded(.down))
                    let (u, v) = (Float(sourceX - left), Float(sourceY - top))
                    guard left >= -1, top >= -1, left < width, top < height else {
                        target[y * size.width + x] = 0
                        continue
                    }
                    let (column, line) = (Int(left), Int(top))
                    let upper = pixel(column, line) * (1 - u) + pixel(column + 1, line) * u
                    let lower = pixel(column, line + 1) * (1 - u) + pixel(column + 1, line + 1) * u
                    target[y * size.width + x] = (upper * (1 - v) + lower * v).bytes
                }
            }
        }
    }
}

extension SIMD4<Float> {
    /// The four bytes of a pixel.
    init(bytes pixel: UInt32) {
        self.init(
            Float(pixel & 255),
            Float(pixel >> 8 & 255),
            Float(pixel >> 16 & 255),
            Float(pixel >> 24)
        )
    }

    /// The pixel of four numbers, rounded.
    var bytes: UInt32 {
        let rounded = SIMD4<UInt32>(
            truncatingIfNeeded: SIMD4<Int32>((self + 0.5).clamped(lowerBound: .zero, upperBound: SIMD4(repeating: 255)))
        )
        return rounded.x | rounded.y << 8 | rounded.z << 16 | rounded.w << 24
    }
}
