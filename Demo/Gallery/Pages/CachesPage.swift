internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

extension Page {
    static let caches = Page(
        id: "caches",
        title: tr("Caches"),
        summary: tr(
            "The contents of the memory and disk caches, and how to clear them. The disk cache follows the server's instructions (RFC 9111)."
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
        let urls = context.server.names.prefix(6).map { context.server.storedURL($0, set: "caches") }
        var source = ""
        let refresh = {
            Task { setText(text, await describe() + source) }
            return
        }
        let load = {
            for (picture, url) in zip(strip, urls) {
                // Setting the same URL again would change nothing, so the image is cleared first.
                picture.clearImage()
                picture.setImage(with: url) { result in
                    source = (try? result.get()).map { "\n\(tr("The images came from")): \($0.source)" } ?? ""
                    refresh()
                }
            }
        }
        load()
        let buttons = [
            button(tr("Reload"), load),
            button(tr("Clear memory")) {
                ImageManager.shared.cache.removeAllFromMemory()
                refresh()
            },
            button(tr("Clear disk")) {
                Task {
                    await ImageManager.shared.cache.removeAllFromDisk()
                    refresh()
                }
            },
            button(tr("Remove expired")) {
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

    /// Formats a byte count in the way of GNOME.
    static func size(_ byteCount: Int) -> String {
        let text = g_format_size(guint64(max(byteCount, 0)))!
        defer { g_free(text) }
        return String(cString: text)
    }
}
