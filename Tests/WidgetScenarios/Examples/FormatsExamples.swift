internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import WebImageDesktop

// The samples of Formats.md, compiled. What they do not declare is a parameter here.

private func sizes(url: URL) async throws {
    let request = ImageRequest(url: url, decodeSize: .contain(PixelSize(width: 640, height: 480)))
    let image = try await ImageManager.shared.image(for: request)
    _ = image
}

@MainActor
private func partialImages(picture: Picture, url: URL) {
    var progressive = ImageRequest(url: url, loading: .progressive)
    progressive.progressiveOptions.isBlurred = true
    picture.setImage(with: progressive)
}

@MainActor
private func page(picture: Picture, url: URL) {
    var document = ImageRequest(url: url)
    document.decoderParameters = ["page": "2"]
    picture.setImage(with: document)
}

@MainActor
private func files(file: URL) throws {
    let image = try WebImage(contentsOf: file)
    let texture = image.makeTexture()
    let pixbuf = image.makePixbuf()
    let copy = WebImage(texture: texture)
    _ = (pixbuf, copy)
}

@MainActor
private func desktop(picture: Picture, url: URL, movie: URL) async throws {
    let content = ImageManager.shared.makeContentProvider(for: url, format: picture.currentImage?.format)
    let icon = try await ImageManager.shared.makeIcon(for: url)
    picture.setImage(with: ImageRequest(thumbnailOf: movie, createsMissing: true))
    _ = (content, icon)
}

@MainActor
private func menu(picture: Picture) {
    picture.imageMenu = ImageMenu()
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

private func animation(drawings: [WebImage], durations: [Duration]) throws -> Data? {
    let animation = WebImage(frames: drawings, durations: durations, loopCount: 3)
    return try animation?.data(as: .gif)
}

private func writing(image: WebImage) throws {
    var options = EncodeOptions()
    options.quality = 0.8
    options.maximumByteCount = 200_000
    options.maximumSize = PixelSize(width: 1280, height: 1280)
    let webP = try image.data(as: .webp, options: options)
    _ = webP
}

private func formats(configuration: inout ImageManager.Configuration) {
    configuration.formats.inWorkers.insert(ImageFormat(rawValue: "image/x-xcf"))
}
