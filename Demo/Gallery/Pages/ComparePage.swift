internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

extension Page {
    static let compare = Page(
        id: "compare",
        title: tr("Compare"),
        summary: tr(
            "The same images over equally slow lines. The library decodes each upright and at the size of its cell, on another thread. Plain GTK decodes whole files without turning them upright, on the thread that draws the window."
        ),
        uses: ["setImage(", "gdk_texture_new_from_bytes", "gtk_picture_set_paintable"],
        isFilling: true,
        parts: ["CompareStage.swift", "CompareSide.swift", "CompareRun.swift"]
    ) { context in
        let folder = context.server.folder
        let library = CompareSide("GtkWebImage", folder: folder) { url, picture, hasShown in
            picture.setImage(with: url) { result in
                hasShown((try? result.get())?.image.byteCount ?? 0)
            }
        }
        let plain = CompareSide(tr("Plain GTK"), folder: folder) { url, picture, hasShown in
            download(url) { bytes in
                let texture = bytes.flatMap { gdk_texture_new_from_bytes($0, nil) }
                gtk_picture_set_paintable(OpaquePointer(picture.widget), texture)
                // A texture of a JPEG file has three bytes a pixel.
                hasShown(texture.map { Int(gdk_texture_get_width($0) * gdk_texture_get_height($0)) * 3 } ?? 0)
                if let texture { g_object_unref(UnsafeMutableRawPointer(texture)) }
            }
        }
        let stage = CompareStage(library, plain)
        return PageContent(stage.widget, owner: stage) { stage.isAtRest }
    }

    /// The downloader of the library with nothing around it, so that the transfers of both sides are alike.
    private static let downloader = ImageDownloader()

    /// Fetches the bytes of a URL and passes them on as GBytes, or `nil` for an error.
    private static func download(_ url: URL, _ completion: @escaping @MainActor (OpaquePointer?) -> Void) {
        _ = downloader.load(LoaderRequest(url: url)) { event in
            guard case .finished(let result) = event else { return }
            Task { @MainActor in
                let bytes = try? result.get().data.withUnsafeBytes { g_bytes_new($0.baseAddress, gsize($0.count)) }
                completion(bytes)
                if let bytes { g_bytes_unref(bytes) }
            }
        }
    }
}
