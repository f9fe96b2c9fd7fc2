import FoundationEssentials
import WebImageCore

/// Makes partial images as many pixels wide as it has bytes.
struct ByteCountingCoder: ImageDecoding {
    final class Session: IncrementalImageDecoding, @unchecked Sendable {
        // @unchecked: a decoder is used by one thread at a time.
        private var count = 0

        func append(_ data: Data) throws(ImageError) { count += data.count }

        func partialImage() -> WebImage? {
            PixelBuffer(size: PixelSize(width: count, height: 1), format: .rgb) { _ in }.map {
                WebImage(pixels: $0, isPartial: true)
            }
        }

        func finish(_ data: Data) throws(ImageError) -> WebImage { partialImage()! }
    }

    func canDecode(_ format: ImageFormat) -> Bool { true }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage { Session().partialImage()! }

    func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? { Session() }
}
