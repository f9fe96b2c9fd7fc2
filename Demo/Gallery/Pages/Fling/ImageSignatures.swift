import FoundationEssentials
import GtkWebImage

/// Tells by its pixels which of the bundled images an image is.
struct ImageSignatures: Sendable {
    /// The mean difference of a channel up to which two images are the same at different sizes.
    private static let tolerance = 10

    /// The signatures of each image, of an animation those of all frames.
    private let signatures: [String: [ImageSignature]]

    /// Decodes the images of a folder, on another thread. The result is `nil` when the task was cancelled.
    init?(folder: String, names: [String]) async {
        let options = DecodeOptions(size: .cover(PixelSize(width: 160, height: 120)))
        var signatures: [String: [ImageSignature]] = [:]
        for name in names {
            guard !Task.isCancelled else { return nil }
            guard let data = try? Data(contentsOf: URL(filePath: "\(folder)/\(name)")),
                let image = try? WebImage(data: data, options: options)
            else { continue }
            signatures[name] = Self.frames(of: image).map { ImageSignature($0) }
        }
        self.signatures = signatures
    }

    /// Whether an image is that of a file, at any size: it looks like it, or at least more than like any other.
    func isImage(_ signature: ImageSignature, of name: String) -> Bool {
        guard let expected = signatures[name] else { return false }
        let distance = Self.distance(signature, expected)
        return distance <= Self.tolerance
            || signatures.allSatisfy { $0.key == name || Self.distance(signature, $0.value) > distance }
    }

    private static func distance(_ signature: ImageSignature, _ frames: [ImageSignature]) -> Int {
        frames.map { signature.distance(to: $0) }.min() ?? .max
    }

    private static func frames(of image: WebImage) -> [PixelBuffer] {
        guard let animation = image.animation else { return [image.pixels] }
        let decoder = animation.makeDecoder()
        return [image.pixels] + (1..<animation.frameCount).compactMap { try? decoder.frame(at: $0) }
    }
}
