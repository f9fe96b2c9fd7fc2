internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageZoom
import WebImageDesktop
import WebImagePDF
import WebImageServices

// The samples of the docstrings in Sources, compiled. What they do not declare is a parameter here.

extension MyPicture: PictureBindable {
    var nativeWidgetPointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(gobjectPointer) }
}

private final class MyPicture {
    let gobjectPointer: OpaquePointer

    init(gobjectPointer: OpaquePointer) {
        self.gobjectPointer = gobjectPointer
    }
}

extension MyAvatar: WidgetBindable {
    var nativeWidgetPointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(gobjectPointer) }
}

private final class MyAvatar {
    let gobjectPointer: OpaquePointer

    init(gobjectPointer: OpaquePointer) {
        self.gobjectPointer = gobjectPointer
    }
}

@MainActor
private func pointers(url: URL, box: UnsafeMutablePointer<GtkBox>) {
    let view = gtk_picture_new()!
    gtk_box_append(box, view)
    WidgetPointer(view).setImage(with: url)
    ApplicationIcon().setImage(with: url)
}

@MainActor
private func loads(picture: WidgetPointer, url: URL, size: PixelSize, image: WebImage) {
    picture.setImage(image)
    picture.setImage(with: ImageRequest(url: url, transformer: .resize(to: size, mode: .cover) + .rounded(12)))
}

@MainActor
private func menu(picture: WidgetPointer) {
    picture.imageMenu = ImageMenu()
}

@MainActor
private func awaited(picture: WidgetPointer, url: URL) async throws {
    let task = picture.setImage(with: url)
    let image = try await task.image
    _ = image
}

@MainActor
private func notifications(url: URL, notification: OpaquePointer) async throws {
    let icon = try await ImageManager.shared.makeIcon(for: url)
    g_notification_set_icon(notification, icon)
    g_object_unref(UnsafeMutableRawPointer(icon))
}

@MainActor
private func thumbnails(picture: WidgetPointer, movie: URL) {
    picture.setImage(with: ImageRequest(thumbnailOf: movie, createsMissing: true))
}

@MainActor
private func paintables(url: URL, image: WidgetPointer) {
    let paintable = ImagePaintable()
    paintable.setImage(with: url)
    let binding = image.imageBinding(for: .image) { paintable in
        gtk_image_set_from_paintable(image.native(), paintable)
    }
    binding.setImage(with: url)
}

@MainActor
private func variants(picture: WidgetPointer, small: URL, medium: URL, large: URL) {
    let variants = ImageVariants(url: small, widths: [400: small, 800: medium, 1600: large])
    picture.setImage(with: variants)
}

private func srcset(small: URL) -> ImageVariants {
    let variants = ImageVariants(src: small, srcset: "small.jpg 400w, medium.jpg 800w, large.jpg 1600w")
    return variants
}

private func doors(configuration: inout ImageManager.Configuration) {
    configuration.desktopThumbnails = .standard
    configuration.decoders.append(PDFCoder())
}

private func services(server: URL) {
    var configuration = ImageManager.Configuration()
    configuration.imageService = .thumbor(at: server, key: "the key of the server")
    ImageManager.shared = ImageManager(configuration: configuration)
}

private func templates() throws -> ImageService {
    let service = try ImageService.template("https://images.example.org/{width}x{height}/{url}")
    return service
}

@MainActor
private func cells() {
    let factory = ImageListFactory(items: OpaquePointer.init, width: 160, height: 120) { item in
        URL(string: String(cString: gtk_string_object_get_string(item)))
    }
    let grid = gtk_grid_view_new(nil, nil)!
    gtk_grid_view_set_factory(OpaquePointer(grid), factory.nativeFactory)
}

@MainActor
private func prefetching(grid: UnsafeMutableRawPointer) {
    let prefetcher: ListPrefetcher
    prefetcher = ListPrefetcher(view: WidgetPointer(grid), items: OpaquePointer.init) { item in
        URL(string: String(cString: gtk_string_object_get_string(item)))
    }
    _ = prefetcher
}

@MainActor
private func lazyRows(urls: [URL], listBox: UnsafeMutableRawPointer) {
    let rows: LazyRowBinder
    rows = LazyRowBinder(container: WidgetPointer(listBox)) { row, index in
        row.setImage(with: urls[index])
    } unbind: { row, _ in
        row.clearImage()
    }
    _ = rows
}

private func transformers(size: PixelSize, logo: WebImage) {
    let avatar = ImageTransformer.resize(to: size, mode: .cover, focus: ImagePoint(x: 0.5, y: 0.2))
    let marked = ImageTransformer.overlay(logo, key: "logo 2", at: .bottomRight)
    _ = (avatar, marked)
}

private func mirror(of url: URL) -> URL { url }

struct Mirrored: ImageIntercepting {
    func intercept(_ chain: InterceptorChain) async throws(ImageError) -> ImageResponse {
        do {
            return try await chain.proceed()
        } catch {
            guard error.code == .connectionFailed else { throw error }
            var request = chain.request
            request.url = mirror(of: request.url)
            return try await chain.proceed(with: request)
        }
    }
}

private func history(error: ImageError) {
    print(error.report)
}

private func priorities(prefetcher: ImagePrefetcher) {
    prefetcher.priority = .low
}

private func updates(manager: ImageManager, url: URL) async {
    for await update in manager.updates(for: url) { print(update) }
}

private func store(cache: ImageCache, image: WebImage, url: URL) async throws {
    cache.store(image, for: url)
    try await cache.store(image, for: url, as: .webp).waitUntilWritten()
}

private func regions(url: URL) async throws {
    let map = try await ImageManager.shared.tiledImage(for: url)
    let corner = try await map.region(PixelRect(x: 0, y: 0, width: 512, height: 512))
    let overview = try await map.region(map.bounds, scale: 0.125)
    print(corner, overview)
}

@MainActor
private func zoomView(url: URL) {
    let view = ZoomView()
    view.setImageDescription("Map of the town")
    view.setImage(with: url)
}
