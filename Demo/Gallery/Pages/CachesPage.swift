internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

extension Page {
    static let caches = Page(
        id: "caches",
        title: tr("Caches"),
        summary: tr(
            "What is in memory and on disk, and how to let go of it. The disk cache keeps to what the server says (RFC 9111)."
        ),
        code: """
            let cache = ImageManager.shared.cache
            let memory = cache.memoryStatistics
            let disk = await cache.diskUsage()
            cache.removeAllFromMemory()
            await cache.removeAllFromDisk()
            await cache.removeExpired()
            """
    ) { context in
        let text = label("", "numeric")
        let strip = (0..<6).map { _ in sizedPicture(width: 120, height: 90) }
        let urls = context.server.names.prefix(6).map { context.fresh($0) }
        var source = ""
        let refresh = {
            Task { setText(text, await describe() + source) }
            return
        }
        let load = {
            for (picture, url) in zip(strip, urls) {
                // Binding the same URL again changes nothing; this lets go of it first.
                picture.setImage(with: nil as URL?)
                picture.setImage(with: url) { result in
                    source = (try? result.get()).map { "\n\(tr("The pictures came from")): \($0.source)" } ?? ""
                    refresh()
                }
            }
        }
        load()
        let buttons = [
            button(tr("Load again"), load),
            button(tr("Empty the memory")) {
                ImageManager.shared.cache.removeAllFromMemory()
                refresh()
            },
            button(tr("Empty the disk")) {
                Task {
                    await ImageManager.shared.cache.removeAllFromDisk()
                    refresh()
                }
            },
            button(tr("Remove what is old")) {
                Task {
                    await ImageManager.shared.cache.removeExpired()
                    refresh()
                }
            },
        ]
        return PageContent(
            box(GTK_ORIENTATION_VERTICAL, [controls(buttons), text, flow(strip.map(\.widget), columns: 3)]),
            waitsFor: strip
        )
    }

    @MainActor
    private static func describe() async -> String {
        let cache = ImageManager.shared.cache
        let memory = cache.memoryStatistics
        let disk = await cache.diskUsage()
        return """
            \(tr("Memory")): \(memory.count) (\(size(memory.byteCount))), \(tr("hits")): \(memory.hitCount), \
            \(tr("misses")): \(memory.missCount)
            \(tr("Disk")): \(disk.count) (\(size(disk.byteCount)))
            """
    }

    @MainActor
    private static func sample() async {
        let cache = ImageManager.shared.cache
        cache.removeAllFromMemory()
        await cache.removeAllFromDisk()
        await cache.removeExpired()
    }

    /// As GNOME writes sizes.
    static func size(_ byteCount: Int) -> String {
        let text = g_format_size(guint64(max(byteCount, 0)))!
        defer { g_free(text) }
        return String(cString: text)
    }
}
