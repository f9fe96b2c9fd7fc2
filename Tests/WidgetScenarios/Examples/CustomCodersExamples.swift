import FoundationEssentials
import GtkWebImage

// The samples of CustomCoders.md, compiled. What they do not declare is a parameter here.

extension ImageFormat {
    static let farbfeld = ImageFormat(rawValue: "farbfeld")
}

struct FarbfeldDecoder: ImageDecoding {
    func canDecode(_ format: ImageFormat) -> Bool { format == .farbfeld }

    func canDecode(_ head: Data, format: ImageFormat) -> Bool {
        format == .farbfeld || head.starts(with: Array("farbfeld".utf8))
    }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        guard let pixels = pixels(of: Array(data), limit: options.maximumPixelCount) else {
            throw ImageError(.badImageData, url: options.url, reason: "No farbfeld", remedy: "Check the file.")
        }
        return WebImage(pixels: pixels, scale: options.scale, format: .farbfeld)
    }

    private func pixels(of file: [UInt8], limit: Int) -> PixelBuffer? {
        func number(at start: Int) -> Int { file[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
        guard file.count >= 16 else { return nil }
        let size = PixelSize(width: number(at: 8), height: number(at: 12))
        guard size.pixelCount <= limit, file.count == 16 + size.pixelCount * 8 else { return nil }
        return PixelBuffer(size: size, format: .rgbaPremultiplied) { memory in
            for pixel in 0..<size.pixelCount {
                // Each channel has 16 bits, of which the upper eight will do.
                let channels = (0..<4).map { Int(file[16 + pixel * 8 + $0 * 2]) }
                for (channel, value) in channels.enumerated() {
                    memory[pixel * 4 + channel] = UInt8(channel < 3 ? value * channels[3] / 255 : value)
                }
            }
        }
    }
}

private func addFormat() {
    ImageManager.shared.coders.add(FarbfeldDecoder())
}
