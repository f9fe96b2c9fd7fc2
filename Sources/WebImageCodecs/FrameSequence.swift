import FoundationEssentials
import Glibc
import WebImageCore

/// The frames of a file whose library decodes them in their order, each as a whole canvas.
struct FrameSequence: FrameSource {
    let format: ImageFormat
    let size: PixelSize
    var orientation = ImageOrientation.up
    let durations: [Duration]
    let loopCount: Int
    let hasAlpha: Bool
    let isSequential = true
    /// Makes a decoder that stands before the first frame. Each of its calls draws the next one.
    let makeDecoder: @Sendable () throws(ImageError) -> (FrameCanvas) throws(ImageError) -> Void

    /// The first frame, with the animation.
    func image(_ data: Data, _ options: DecodeOptions) throws(ImageError) -> WebImage {
        let rect = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
        return try WebImage(
            animated: self,
            layouts: durations.map {
                FrameLayout(rect: rect, duration: $0, disposal: .keep, isBlended: false, hasAlpha: hasAlpha)
            },
            size: size,
            orientation: orientation,
            loopCount: loopCount,
            format: format,
            data: data,
            isArriving: false,
            arrival: nil,
            options: options
        )
    }

    func draw(_ index: Int, on canvas: FrameCanvas) throws(ImageError) {
        let decoder = if index > 0, let known = canvas.decoder { known } else { try makeDecoder() }
        // A decoder that has thrown is not used again.
        canvas.decoder = nil
        try decoder(canvas)
        canvas.decoder = decoder
    }
}

/// The bytes of a file at an address that stays.
///
/// `@unchecked`: the bytes are written by `init` only.
final class FileBytes: @unchecked Sendable {
    private let memory: UnsafeMutableRawBufferPointer

    init(_ data: Data, _ options: DecodeOptions) throws(ImageError) {
        guard let start = malloc(max(data.count, 1)) else {
            throw options.outOfMemory(PixelSize(width: data.count, height: 1))
        }
        memory = UnsafeMutableRawBufferPointer(start: start, count: data.count)
        data.copyBytes(to: memory)
    }

    deinit {
        free(memory.baseAddress)
    }

    var reader: ByteReader { ByteReader(UnsafeRawBufferPointer(memory)) }
}

extension FrameCanvas {
    /// Replaces all pixels by rows of RGB, or of RGBA with straight alpha.
    func copy(_ rows: PixelRows) {
        let rect = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
        for y in 0..<size.height {
            let (source, target) = (rows.start + y * rows.bytesPerRow, row(y, of: rect))
            guard rows.layout == .rgb else {
                target.update(from: source.assumingMemoryBound(to: UInt32.self), count: size.width)
                continue
            }
            let bytes = source.assumingMemoryBound(to: UInt8.self)
            for x in 0..<size.width {
                target[x] =
                    UInt32(bytes[x * 3]) | UInt32(bytes[x * 3 + 1]) << 8 | UInt32(bytes[x * 3 + 2]) << 16 | 0xFF00_0000
            }
        }
        if rows.layout != .rgb { multiplyAlpha(in: rect) }
    }
}
