import FoundationEssentials
import GtkWebImage

/// Writes rotated JPEG files with an EXIF orientation, as cameras do.
enum ExifWriter {
    /// Encodes an image rotated in such a way that an EXIF orientation (1 to 8) makes it upright again.
    static func rotated(_ image: WebImage, orientation number: Int) -> Data? {
        let steps: ImageTransformer? =
            switch number {
            case 2: .flip(horizontally: true)
            case 3: .rotate(degrees: 180)
            case 4: .flip(vertically: true)
            case 5: .rotate(degrees: 270) + .flip(vertically: true)
            case 6: .rotate(degrees: 270)
            case 7: .rotate(degrees: 90) + .flip(vertically: true)
            case 8: .rotate(degrees: 90)
            default: nil
            }
        let small = ImageTransformer.resize(to: PixelSize(width: 320, height: 240), mode: .cover)
        return try? (steps.map { small + $0 } ?? small).transform(image)?.data(as: .jpeg)
    }

    /// Inserts EXIF data with an orientation at the start of a JPEG file (EXIF 2.3, section 4.6.4).
    static func tagged(_ jpeg: Data, orientation number: Int) -> Data? {
        guard jpeg.starts(with: [0xFF, 0xD8]), (1...8).contains(number) else { return nil }
        var exif = Data("Exif\0\0MM".utf8) + Data([0, 42, 0, 0, 0, 8, 0, 1])
        exif += Data([0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, UInt8(number), 0, 0, 0, 0, 0, 0])
        let length = exif.count + 2
        return Data([0xFF, 0xD8, 0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 255)]) + exif + jpeg.dropFirst(2)
    }
}
