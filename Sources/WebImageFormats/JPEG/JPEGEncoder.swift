internal import CWebImageShims
import FoundationEssentials
import Glibc
import WebImageCore

/// Writes JPEG with libjpeg. From a quality of 0.9 on, colors keep their full resolution.
struct JPEGEncoder: ImageEncoding {
    func canEncode(_ format: ImageFormat) -> Bool { format == .jpeg }

    func encode(
        _ pixels: PixelBuffer,
        as format: ImageFormat,
        options: EncodeOptions
    ) throws(ImageError) -> Data {
        guard let flat = pixels.flattened(onto: options.background) else {
            throw .noMemory(toEncode: "a JPEG of \(pixels.size) pixels")
        }
        let encoding = gwi_jpeg_encoding(
            width: UInt32(clamping: flat.size.width),
            height: UInt32(clamping: flat.size.height),
            quality: max(1, Int32(bounded: (options.quality * 100).rounded())),
            has_full_chroma: options.quality >= 0.9
        )
        var file = gwi_jpeg_file()
        let isWritten = flat.withUnsafeBytes {
            gwi_jpeg_encode($0.bindMemory(to: UInt8.self).baseAddress, encoding, &file)
        }
        guard isWritten, let bytes = file.bytes else {
            let reason = withUnsafeBytes(of: file.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            throw .encodingFailed(
                "libjpeg cannot write the image: \(reason)",
                remedy: "Choose a smaller size, or PNG, which has no limit of that kind."
            )
        }
        return Data(bytesNoCopy: bytes, count: file.count, deallocator: .free)
    }
}
