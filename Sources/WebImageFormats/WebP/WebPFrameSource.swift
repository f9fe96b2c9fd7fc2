internal import CWebImageWebP
import FoundationEssentials
import WebImageCore

/// Draws the frames of an animated WebP file.
struct WebPFrameSource: FrameSource {
    let data: Data
    let file: WebPFile
    let options: DecodeOptions

    func draw(_ index: Int, on canvas: FrameCanvas) throws(ImageError) {
        let frame = file.frames[index]
        let (layout, rect) = (frame.layout, frame.layout.rect)
        var status = VP8_STATUS_OK
        if layout.isBlended, layout.hasAlpha {
            let pixels = PixelBuffer(size: rect.size, format: .rgbaPremultiplied) { memory in
                status = decode(frame, into: memory.baseAddress!, rect.size, stride: rect.size.width * 4)
                PixelBuffer.multiplyAlpha(in: memory)
            }
            guard let pixels else { throw options.outOfMemory(rect.size) }
            if status == VP8_STATUS_OK { pixels.draw(layout, on: canvas) }
        } else {
            status = decode(frame, into: canvas.row(0, of: rect), rect.size, stride: canvas.size.width * 4)
            if layout.hasAlpha { canvas.multiplyAlpha(in: rect) }
        }
        guard status == VP8_STATUS_OK else {
            throw options.badData("Frame \(index): \(WebPCoder.describe(status))")
        }
    }

    private func decode(
        _ frame: WebPFile.Frame,
        into target: UnsafeMutableRawPointer,
        _ size: PixelSize,
        stride: Int
    ) -> VP8StatusCode {
        return data.withUnsafeBytes { bytes in
            let part = UnsafeRawBufferPointer(rebasing: bytes[frame.part]).bindMemory(to: UInt8.self)
            // The size in the frame's header may differ from the container's.
            var (width, height) = (Int32(0), Int32(0))
            guard WebPGetInfo(part.baseAddress, part.count, &width, &height) != 0, Int(width) == size.width,
                Int(height) == size.height
            else { return VP8_STATUS_BITSTREAM_ERROR }
            return WebPBitmap(target, size, stride: stride, hasAlpha: true).decode(UnsafeRawBufferPointer(part))
        }
    }
}
