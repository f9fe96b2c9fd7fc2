import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

// The samples of Formats.md, compiled. What they do not declare is a parameter here.

@MainActor
private func sizes(picture: Picture, url: URL) {
    var request = ImageRequest(url: url, decodeSize: .contain(PixelSize(width: 640, height: 480)))
    request.decodeSize = .within(byteCount: 64 << 20)
    picture.setImage(with: ImageRequest(url: url, decodeSize: .original))
    request.loading = .progressive
    request.convertsToSRGB = false
    picture.setImage(with: request)
}

private func preferPixbuf() {
    ImageManager.shared.coders.add(PixbufCoder())
}

@MainActor
private func files(file: URL) throws {
    let image = try WebImage(contentsOf: file)
    let texture = image.makeTexture()
    let pixbuf = image.makePixbuf()
    let copy = WebImage(texture: texture)
    print(image.pixelSize, image.format, image.frameCount, image.loopCount)
    _ = (pixbuf, copy)
}

@MainActor
private func transformers(picture: Picture, url: URL, negative: @escaping @Sendable (WebImage) -> WebImage?) {
    picture.setImage(with: url, transformer: .resize(to: PixelSize(width: 400, height: 300), .cover) + .rounded(12))
    picture.setImage(with: url, transformer: .custom(key: "negative 1") { negative($0) })
}

private func writing(image: WebImage) throws {
    var options = EncodeOptions()
    options.quality = 0.8
    options.maximumByteCount = 200_000
    options.maximumSize = PixelSize(width: 1280, height: 1280)
    let webP = try image.data(as: .webp, options: options)
    _ = webP
}

extension ImageFormat {
    fileprivate static let farbfeld = ImageFormat(rawValue: "farbfeld")
}

private func addFormat() {
    struct FarbfeldDecoder: ImageDecoding {
        func canDecode(_ format: ImageFormat) -> Bool { format == .farbfeld }

        func canDecode(_ head: Data, format: ImageFormat) -> Bool {
            format == .farbfeld || head.starts(with: Array("farbfeld".utf8))
        }

        func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
            guard let pixels = pixels(of: data, limit: options.maximumPixelCount) else {
                throw ImageError(.badImageData, url: options.url, reason: "No farbfeld", remedy: "Check the file.")
            }
            return WebImage(pixels: pixels, scale: options.scale, format: .farbfeld)
        }
    }

    ImageManager.shared.coders.add(FarbfeldDecoder())
}

/// Stands for reading the file.
private func pixels(of data: Data, limit: Int) -> PixelBuffer? { nil }

private func formats(configuration: inout ImageManager.Configuration) {
    configuration.formats.network.insert(.svg)
    configuration.formats.local = [.png, .jpeg]
}
