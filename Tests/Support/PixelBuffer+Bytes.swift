package import Foundation
package import WebImageCore

extension PixelBuffer {
    /// The pixels as red, green, blue and straight alpha.
    package var straightAlpha: [UInt8] {
        hasAlpha ? withStraightAlpha { Array($0) } ?? [] : opaqueBytes
    }

    /// The pixels as four premultiplied bytes each.
    package var rgba: [UInt8] {
        hasAlpha ? withUnsafeBytes { Array($0) } : opaqueBytes
    }

    /// The difference of the premultiplied bytes from those of another image.
    /// - Parameter straight: The other pixels as red, green, blue and straight alpha.
    package func difference(fromStraight straight: Data) -> (mean: Double, largest: Int) {
        guard straight.count == size.pixelCount * 4 else { return (256, 256) }
        let other = straight.withUnsafeBytes { bytes in
            let rows = PixelRows(start: bytes.baseAddress!, size: size, bytesPerRow: size.width * 4, layout: .rgba)
            return PixelBuffer(rows, orientation: .up)!
        }
        let (mine, theirs) = (rgba, other.rgba)
        let differences = zip(mine, theirs).map { abs(Int($0) - Int($1)) }
        return (Double(differences.reduce(0, +)) / Double(differences.count), differences.max() ?? 0)
    }

    package func difference(from other: PixelBuffer) -> Double {
        let differences = zip(rgba, other.rgba).map { abs(Int($0) - Int($1)) }
        return Double(differences.reduce(0, +)) / Double(max(differences.count, 1))
    }

    /// Three bytes a pixel, with an alpha of 255 behind each.
    private var opaqueBytes: [UInt8] {
        withUnsafeBytes { bytes in
            var result: [UInt8] = []
            result.reserveCapacity(bytes.count / 3 * 4)
            for start in stride(from: 0, to: bytes.count, by: 3) {
                result.append(contentsOf: bytes[start..<start + 3])
                result.append(255)
            }
            return result
        }
    }
}
