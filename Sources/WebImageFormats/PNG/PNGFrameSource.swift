import FoundationEssentials
import WebImageCore

/// Draws the frames of an animated PNG file, reading each as a separate file.
struct PNGFrameSource: FrameSource {
    let data: Data
    let file: PNGFile
    let options: DecodeOptions

    func draw(_ index: Int, on canvas: FrameCanvas) throws(ImageError) {
        let layout = file.frames[index].layout
        let data = file.file(of: index, from: data)
        var reader = try PNGReader(options)
        guard try reader.readHeader(of: data) == layout.rect.size else {
            throw options.badData("A frame of the PNG has another size")
        }
        let pixels = try reader.pixels(of: data)
        pixels.draw(layout, on: canvas)
    }
}

extension PixelBuffer {
    /// Draws the pixels of a frame on a canvas.
    func draw(_ layout: FrameLayout, on canvas: FrameCanvas) {
        let (rect, width) = (layout.rect, layout.rect.size.width)
        withUnsafeBytes { bytes in
            guard hasAlpha else {
                var source = bytes.baseAddress!.assumingMemoryBound(to: UInt8.self)
                for y in 0..<rect.size.height {
                    let target = canvas.row(y, of: rect)
                    for x in 0..<width {
                        target[x] =
                            UInt32(source[0]) | UInt32(source[1]) << 8 | UInt32(source[2]) << 16 | 0xFF00_0000
                        source += 3
                    }
                }
                return
            }
            let source = bytes.bindMemory(to: UInt32.self).baseAddress!
            if layout.isBlended {
                canvas.blend(source, rect)
            } else {
                for y in 0..<rect.size.height { canvas.row(y, of: rect).update(from: source + y * width, count: width) }
            }
        }
    }
}
