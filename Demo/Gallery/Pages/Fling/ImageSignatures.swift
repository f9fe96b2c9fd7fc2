import FoundationEssentials
import GtkWebImage

/// Tells by its pixels which of the bundled images an image is. In a measurement of the library its own word does not count.
struct ImageSignatures: Sendable {
    /// The points of a side whose colours make a signature.
    private static let side = 8
    /// The mean difference of a channel up to which two images are the same at different sizes.
    private static let tolerance = 10

    private let signatures: [String: [UInt8]]

    /// Decodes the images of a folder, on another thread. The result is `nil` when the task was cancelled.
    init?(folder: String, names: [String]) async {
        let options = DecodeOptions(size: .cover(PixelSize(width: 160, height: 120)))
        var signatures: [String: [UInt8]] = [:]
        for name in names {
            guard !Task.isCancelled else { return nil }
            guard let data = try? Data(contentsOf: URL(filePath: "\(folder)/\(name)")),
                let image = try? WebImage(data: data, options: options)
            else { continue }
            signatures[name] = Self.signature(of: image.pixels)
        }
        self.signatures = signatures
    }

    /// Whether an image is that of a file, at any size: it looks like it, or at least more than like any other.
    func isImage(_ image: WebImage, of name: String) -> Bool {
        guard let expected = signatures[name] else { return false }
        let signature = Self.signature(of: image.pixels)
        let distance = Self.distance(signature, expected)
        return distance <= Self.tolerance
            || signatures.allSatisfy { $0.key == name || Self.distance(signature, $0.value) > distance }
    }

    private static func signature(of pixels: PixelBuffer) -> [UInt8] {
        let (size, step) = (pixels.size, pixels.bytesPerRow / pixels.size.width)
        return pixels.withUnsafeBytes { bytes in
            (0..<side * side).flatMap { index in
                let x = (2 * (index % side) + 1) * size.width / (2 * side)
                let y = (2 * (index / side) + 1) * size.height / (2 * side)
                let offset = y * pixels.bytesPerRow + x * step
                return bytes[offset..<offset + 3]
            }
        }
    }

    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var sum = 0
        for index in a.indices { sum += abs(Int(a[index]) - Int(b[index])) }
        return sum / a.count
    }
}
