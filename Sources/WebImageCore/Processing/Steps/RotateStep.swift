import Glibc

/// Rotates the image clockwise.
struct RotateStep: PixelTransforming {
    let degrees: Double
    let growsToFit: Bool

    var key: String { "rotate(\(degrees),\(growsToFit))" }
    var keepsNaturalSize: Bool { false }

    func transform(_ image: WebImage) -> WebImage? {
        guard let turned = apply(to: image.pixels, scale: 1) else { return nil }
        // The natural size grows by the same factor as the pixels.
        let (before, natural) = (image.pixelSize, image.naturalSize)
        let density = Double(natural.width) / Double(before.width)
        return image.replacingPixels(turned, keepsNaturalSize: false).with { content in
            content.naturalSize = PixelSize(
                width: max(1, Int(bounded: (Double(turned.size.width) * density).rounded())),
                height: max(1, Int(bounded: (Double(turned.size.height) * density).rounded()))
            )
        }
    }

    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer? {
        guard degrees.isFinite else { return nil }
        let turn = (degrees.truncatingRemainder(dividingBy: 360) + 360).truncatingRemainder(dividingBy: 360)
        let isSquare = pixels.size.width == pixels.size.height
        switch turn {
        case 0: return pixels
        case 180: return pixels.oriented(.down)
        case 90 where growsToFit || isSquare: return pixels.oriented(.right)
        case 270 where growsToFit || isSquare: return pixels.oriented(.left)
        default: return rotated(pixels, by: turn * .pi / 180)
        }
    }

    /// Interpolates each pixel bilinearly, from the four pixels around its origin.
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
        guard size.isReachable(from: pixels.size) else { return nil }
        let (middleX, middleY) = (Double(size.width) / 2, Double(size.height) / 2)
        return PixelBuffer(size: size, format: .rgbaPremultiplied) { memory in
            let target = memory.bindMemory(to: UInt32.self).baseAddress!
            let from = source.baseAddress.assumingMemoryBound(to: UInt32.self)
            let (lastX, lastY) = (source.size.width - 1, source.size.height - 1)
            func pixel(_ x: Int, _ y: Int) -> UInt32 {
                x >= 0 && y >= 0 && x <= lastX && y <= lastY ? from[y * source.size.width + x] : 0
            }
            for y in 0..<size.height {
                let dy = Double(y) + 0.5 - middleY
                let row = target + y * size.width
                for x in 0..<size.width {
                    let dx = Double(x) + 0.5 - middleX
                    let sourceX = dx * cosine + dy * sine + width / 2 - 0.5
                    let sourceY = dy * cosine - dx * sine + height / 2 - 0.5
                    guard sourceX >= -1, sourceY >= -1, sourceX < width, sourceY < height else {
                        row[x] = 0
                        continue
                    }
                    // Positions are in 256ths of a pixel and start one pixel outside the image.
                    let (fixedX, fixedY) = (Int((sourceX + 1) * 256), Int((sourceY + 1) * 256))
                    let (column, line) = (fixedX >> 8 - 1, fixedY >> 8 - 1)
                    let (u, v) = (UInt32(fixedX & 255), UInt32(fixedY & 255))
                    let upper = mixed(pixel(column, line), pixel(column + 1, line), share: u)
                    let lower = mixed(pixel(column, line + 1), pixel(column + 1, line + 1), share: u)
                    row[x] = mixed(upper, lower, share: v)
                }
            }
        }
    }
}

/// Mixes two pixels, two channels at a time. `share` is the weight of the second pixel in 256ths.
@inline(__always)
private func mixed(_ one: UInt32, _ other: UInt32, share: UInt32) -> UInt32 {
    let rest = 256 - share
    let low = ((one & 0x00FF_00FF) &* rest &+ (other & 0x00FF_00FF) &* share &+ 0x0080_0080) >> 8 & 0x00FF_00FF
    let high = (one >> 8 & 0x00FF_00FF) &* rest &+ (other >> 8 & 0x00FF_00FF) &* share &+ 0x0080_0080
    return low | high & 0xFF00_FF00
}
