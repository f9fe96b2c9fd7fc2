internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import WebImageDesktop

// The samples of Formats.md, compiled. What they do not declare is a parameter here.

@MainActor
private func sizes(picture: Picture, url: URL) {
    var request = ImageRequest(url: url, decodeSize: .contain(PixelSize(width: 640, height: 480)))
    request.decodeSize = .within(byteCount: 64 << 20)
    picture.setImage(with: ImageRequest(url: url, decodeSize: .original))
    request.loading = .progressive
    request.convertsToSRGB = false
    request.appliesOrientation = false
    picture.setImage(with: request)
}

@MainActor
private func page(picture: Picture, url: URL) {
    var document = ImageRequest(url: url)
    document.decoderParameters = ["page": "2"]
    picture.setImage(with: document)
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
    let background = image.color(x: 0, y: 0)
    let bytes = image.animation?.fileData
    _ = (pixbuf, copy, background, bytes)
}

@MainActor
private func desktop(picture: Picture, url: URL, movie: URL) async throws {
    let content = ImageManager.shared.makeContentProvider(for: url, format: picture.currentImage?.format)
    let icon = try await ImageManager.shared.makeIcon(for: url)
    picture.setImage(with: ImageRequest(thumbnailOf: movie, createsMissing: true))
    _ = (content, icon)
}

@MainActor
private func transformers(picture: Picture, url: URL) {
    let crop = ImageTransformer.resize(to: PixelSize(width: 400, height: 300), .cover)
    picture.setImage(with: ImageRequest(url: url, transformer: crop + .rounded(12)))
    picture.setImage(with: ImageRequest(url: url, transformer: ImageTransformer(Negative()) + .circle()))
}

struct Negative: ImageTransforming {
    let key = "negative 1"

    func transform(_ image: WebImage) -> WebImage? {
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
}

@MainActor
private func dragging(image: WebImage, widget: UnsafeMutablePointer<GtkWidget>) {
    let provider = UnsafeMutablePointer<GdkContentProvider>(image.makeContentProvider())
    gdk_clipboard_set_content(gtk_widget_get_clipboard(widget), provider)
    let source = gtk_drag_source_new()
    gtk_drag_source_set_content(source, provider)
    gtk_widget_add_controller(widget, source)
    g_object_unref(provider)
}

private func animation(drawings: [WebImage]) throws -> Data? {
    let animation = WebImage(frames: drawings.map { ($0, .milliseconds(80)) }, loopCount: 3)
    return try animation?.data(as: .gif)
}

private func partialImages(request: inout ImageRequest) {
    request.progressiveOptions.interval = .milliseconds(500)
    request.progressiveOptions.isBlurred = true
}

@MainActor
private func focus(picture: Picture, url: URL) {
    let face = ImagePoint(x: 0.4, y: 0.2)
    picture.setImage(with: ImageRequest(url: url, transformer: .circle(focus: face)))
    picture.setImage(with: url, options: BindingOptions(focus: face))
}

@MainActor
private func blending(picture: Picture, url: URL, logo: WebImage, paper: WebImage) {
    picture.setImage(with: ImageRequest(url: url, transformer: .tint(ImageColor(0x3584E4), blendMode: .multiply)))
    picture.setImage(with: ImageRequest(url: url, transformer: .overlay(logo, key: "logo 2", at: .bottomRight)))
    picture.setImage(with: ImageRequest(url: url, transformer: .overlay(paper, key: "paper 1", blendMode: .softLight)))
}

private func writing(image: WebImage) throws {
    var options = EncodeOptions()
    options.quality = 0.8
    options.maximumByteCount = 200_000
    options.maximumSize = PixelSize(width: 1280, height: 1280)
    let webP = try image.data(as: .webp, options: options)

    options.webP.effort = 6
    let sticker = try image.data(as: .gif)
    _ = (webP, sticker)
}

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

private func parameters(url: URL) {
    var request = ImageRequest(url: url)
    request.decoderParameters = ["page": "3"]
    _ = request
}

private func formats(configuration: inout ImageManager.Configuration) {
    configuration.formats.network.formUnion([.heif, ImageFormat(rawValue: "image/x-xcf")])
    configuration.formats.allowsSVGInWorkers = false
    configuration.formats.local = [.png, .jpeg]
}
