import Foundation
import GtkWebImage

extension Page {
    static let compare = Page(
        id: "compare",
        title: tr("Compare"),
        summary: tr(
            "The same images over the same line, scrolled one side after the other. Left: the library, without its cache on disk. Right: plain GTK with the same downloader. Each cell downloads its file, decodes it at full size, and shows it when it is there."
        ),
        code: """
            let factory = ImageListFactory(
                width: 160,
                height: 120,
                imageDescription: { urls[$0].imageTitle },
                request: { position in ImageRequest(url: urls[position]) }
            )

            connect(factory, "bind") { item in
                let picture = gtk_list_item_get_child(item)!
                let url = urls[Int(gtk_list_item_get_position(item))]
                g_object_ref(picture)
                download(url) { bytes in
                    let texture = bytes.flatMap { gdk_texture_new_from_bytes($0, nil) }
                    if let texture { gtk_picture_set_paintable(OpaquePointer(picture), texture) }
                    if let texture { g_object_unref(UnsafeMutableRawPointer(texture)) }
                    g_object_unref(picture)
                }
            }
            """,
        isFilling: true,
        parts: ["PlainWall.swift", "ImageWall.swift", "WallGrid.swift"]
    ) { context in
        let stage = makeStage(context)
        var content = PageContent(stage.widget, owner: stage)
        content.isAtRest = { stage.isAtRest }
        return content
    }

    @MainActor
    private static func makeStage(_ context: PageContext) -> CompareStage {
        // Both sides read JPEG. The URLs are new, so that no cache has any of them.
        let names = context.server.names.filter { $0.hasSuffix(".jpg") }
        let urls = (0..<600).map { context.fresh(names[$0 % names.count]) }
        let traffic = context.server.traffic

        let manager = ImageManager.compared
        let library = LibraryWall(
            ImageWall(urls: urls, columns: 1...2, manager: manager),
            manager: manager,
            server: context.server
        )
        // The same downloader, with nothing around it.
        let downloader = ImageDownloader.compared
        let plain = PlainWall(urls: urls, columns: 1...2) { url, completion in downloader.fetch(url, completion) }
        return CompareStage([
            CompareSide("GtkWebImage", library) { traffic.byteCount(for: ImageManager.comparedAgent) },
            CompareSide(tr("Plain GTK"), plain) { traffic.byteCount(for: ImageDownloader.comparedAgent) },
        ])
    }
}
