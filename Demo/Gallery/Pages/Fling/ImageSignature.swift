internal import CWebImageGtk4
import GtkWebImage

/// The colours of an image at a few points, by which two sizes of it are known as the same.
struct ImageSignature: Sendable {
    /// The points of a side.
    private static let side = 8

    private let values: [UInt8]

    init(_ pixels: PixelBuffer) {
        let step = pixels.bytesPerRow / pixels.size.width
        values = pixels.withUnsafeBytes { bytes in
            Self.offsets(in: pixels.size, bytesPerRow: pixels.bytesPerRow, step: step).flatMap { bytes[$0..<$0 + 3] }
        }
    }

    /// Reads the pixels of a GdkTexture.
    init(texture: OpaquePointer) {
        let size = PixelSize(width: Int(gdk_texture_get_width(texture)), height: Int(gdk_texture_get_height(texture)))
        let bytesPerRow = size.width * 4
        var bytes = [UInt8](repeating: 0, count: size.height * bytesPerRow)
        gdk_texture_download(texture, &bytes, gsize(bytesPerRow))
        // GDK writes the bytes blue, green, red and alpha.
        values = Self.offsets(in: size, bytesPerRow: bytesPerRow, step: 4).flatMap { offset in
            [bytes[offset + 2], bytes[offset + 1], bytes[offset]]
        }
    }

    /// The mean difference of a channel.
    func distance(to other: Self) -> Int {
        zip(values, other.values).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) } / values.count
    }

    /// Where the bytes of the points begin.
    private static func offsets(in size: PixelSize, bytesPerRow: Int, step: Int) -> [Int] {
        (0..<side * side).map { index in
            let x = (2 * (index % side) + 1) * size.width / (2 * side)
            let y = (2 * (index / side) + 1) * size.height / (2 * side)
            return y * bytesPerRow + x * step
        }
    }
}
