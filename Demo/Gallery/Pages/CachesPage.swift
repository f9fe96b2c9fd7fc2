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
            let images = cache.memoryEntries(limit: 24)
            let files = await cache.diskFiles(limit: 24)
            let statistics = cache.memoryStatistics
            let usage = await cache.diskUsage()
            ImageManager.shared.trimMemory(for: .low)
            await cache.removeExpired()
            cache.removeAllFromMemory()
            await cache.removeAllFromDisk()
            """,
        parts: ["CacheContents.swift", "CacheShelf.swift"]
    ) { context in
        let cache = ImageManager.shared.cache
        let contents = CacheContents(context)
        // Owned, because the tasks of the buttons may end after the page.
        let source = OwnedWidget(label("", "numeric"))
        let strip = (0..<6).map { _ in sizedPicture(width: 120, height: 90) }
        let urls = context.server.names.prefix(6).map { context.server.storedURL($0, set: "caches") }
        let load = {
            let sources = SourceNames { setText(source.widget, "\(tr("The images came from")): \($0)") }
            for (picture, url) in zip(strip, urls) {
                // Setting the same URL again would change nothing, so the image is cleared first.
                picture.clearImage()
                picture.setImage(with: url) { sources.add($0) }
            }
        }
        load()
        let trim = {
            Task {
                let (count, usage) = (cache.memoryStatistics.count, await cache.diskUsage())
                ImageManager.shared.trimMemory(for: .low)
                await cache.removeExpired()
                let evicted = count - cache.memoryStatistics.count
                let removed = usage.count - (await cache.diskUsage()).count
                let counts = [(tr("Evicted from memory"), evicted), (tr("removed from disk"), removed)]
                showToast(counts.map { "\($0.0): \($0.1)" }.joined(separator: ", "), in: source.widget)
                contents.changed()
            }
            return
        }
        let buttons = [
            button(tr("Reload"), load),
            button(tr("Clear memory")) {
                cache.removeAllFromMemory()
                contents.changed()
            },
            button(tr("Clear disk")) {
                Task {
                    await cache.removeAllFromDisk()
                    contents.changed()
                }
            },
            button(tr("Trim"), trim),
        ]
        var content = PageContent(
            box(
                GTK_ORIENTATION_VERTICAL,
                spacing: 18,
                [controls(buttons), flow(strip.map(\.widget), columns: 3), source.widget, contents.widget]
            ),
            owner: contents
        )
        content.isAtRest = { strip.allSatisfy(\.isAtRest) && contents.isAtRest }
        return content
    }
}

/// Where several images came from, each source with their number.
@MainActor
private final class SourceNames {
    private var counts: [ImageResponse.Source: Int] = [:]
    private let show: (String) -> Void

    init(_ show: @escaping (String) -> Void) {
        self.show = show
    }

    func add(_ result: Result<ImageResponse, ImageError>) {
        guard let source = try? result.get().source else { return }
        counts[source, default: 0] += 1
        let order: [ImageResponse.Source] = [.memory, .disk, .loader, .revalidated]
        show(order.compactMap { source in counts[source].map { "\(source.title) \($0)" } }.joined(separator: ", "))
    }
}

extension ImageResponse.Source {
    /// What the gallery calls the source.
    var title: String {
        switch self {
        case .memory: tr("memory")
        case .disk: tr("disk")
        case .loader: tr("network")
        case .revalidated: tr("network, not modified")
        }
    }
}
