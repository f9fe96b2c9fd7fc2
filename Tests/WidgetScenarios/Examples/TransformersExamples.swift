import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

// The samples of Transformers.md, compiled. What they do not declare is a parameter here.

@MainActor
private func transformers(picture: Picture, url: URL) {
    let crop = ImageTransformer.resize(to: PixelSize(width: 400, height: 300), mode: .cover)
    picture.setImage(with: ImageRequest(url: url, transformer: crop + .rounded(12)))
    picture.setImage(with: ImageRequest(url: url, transformer: negative + .circle()))
}

let negative = ImageTransformer.custom(key: "negative 1") { image in
    let source = image.pixels
    let pixels = PixelBuffer(size: source.size, format: source.format) { memory in
        source.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: source.hasAlpha ? 4 : 3) {
                let alpha = source.hasAlpha ? bytes[start + 3] : 255
                for channel in start..<start + 3 { memory[channel] = alpha - bytes[channel] }
                if source.hasAlpha { memory[start + 3] = alpha }
            }
        }
    }
    return pixels.map { WebImage(pixels: $0) }
}

@MainActor
private func focus(picture: Picture, url: URL) {
    let face = ImagePoint(x: 0.4, y: 0.2)
    picture.setImage(with: ImageRequest(url: url, transformer: .circle(focus: face)))
    picture.setImage(with: url, options: BindingOptions(focus: face))
}

@MainActor
private func blending(picture: Picture, url: URL, logo: WebImage, paper: WebImage) {
    picture.setImage(with: ImageRequest(url: url, transformer: .overlay(logo, key: "logo 2", at: .bottomRight)))
    picture.setImage(with: ImageRequest(url: url, transformer: .overlay(paper, key: "paper 1", blendMode: .softLight)))
}
