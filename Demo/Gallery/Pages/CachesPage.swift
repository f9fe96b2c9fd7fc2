internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

extension Page {
    static let caches = Page(
        id: "caches",
        title: tr("Caches"),
        summary: tr(
            "How full the memory and disk caches are, and how to clear them. The disk cache follows the server's instructions (RFC 9111)."
        ),
        uses: ["diskUsage()", "memoryStatistics", "removeAll(from:"]
    ) { context in
        let cache = ImageManager.shared.cache
        let levels = CacheLevels()
        let source = label("", "numeric")
        let strip = (0..<6).map { _ in sizedPicture(width: 108, height: 81) }
        let urls = context.server.names.prefix(6).map { context.server.storedURL($0, set: "caches") }
        let load = {
            let sources = SourceCounts { setText(source, "\(tr("The images came from")): \($0)") }
            for (picture, url) in zip(strip, urls) {
                // Setting the same URL again would change nothing, so the image is cleared first.
                picture.clearImage()
                picture.setImage(with: url) { sources.add($0) }
            }
        }
        load()
        let clear = { (tiers: CacheTiers) in
            _ = Task {
                await cache.removeAll(from: tiers)
                await levels.update()
            }
        }
        let buttons = [
            button(tr("Reload"), load), button(tr("Clear memory")) { clear(.memory) },
            button(tr("Clear the disk cache")) { clear(.disk) },
        ]
        let parts = [controls(buttons), levels.widget, source, flow(strip.map(\.widget), columns: 6)]
        return PageContent(box(GTK_ORIENTATION_VERTICAL, spacing: 18, parts), owner: levels) {
            strip.allSatisfy(\.isAtRest) && levels.isAtRest
        }
    }
}

/// How full the memory cache and the disk cache are, twice a second while that is on screen: files are written some time after the
/// loads that bring them.
@MainActor
private final class CacheLevels {
    private let levels = [tr("Memory"), tr("Disk")].map { (bar: levelBar($0), text: label("", "caption", "numeric")) }
    private let owned: OwnedWidget
    private var follower: Task<Void, Never>?
    private var shown: [String] = []
    /// Whether nothing has changed lately.
    private(set) var isAtRest = false

    init() {
        let titles = [tr("Memory"), tr("Disk")].map { label($0, "heading") }
        let rows = zip(titles, levels).map { box(GTK_ORIENTATION_VERTICAL, spacing: 6, [$0, $1.text, $1.bar]) }
        owned = OwnedWidget(box(GTK_ORIENTATION_VERTICAL, spacing: 18, rows))
        connect(OpaquePointer(widget), "map") { [weak self] in self?.follow() }
        connect(OpaquePointer(widget), "unmap") { [weak self] in self?.follower?.cancel() }
    }

    var widget: Widget { owned.widget }

    private func follow() {
        follower = Task { [weak self] in
            while !Task.isCancelled, let self {
                await update()
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
    }

    func update() async {
        let cache = ImageManager.shared.cache
        let usage = await cache.diskUsage()
        let statistics = cache.memoryStatistics
        let counts = [
            (tr("hits"), statistics.hitCount), (tr("misses"), statistics.missCount),
            (tr("evicted"), statistics.evictionCount),
        ]
        let values = [
            (statistics.byteCount, statistics.maximumByteCount), (usage.byteCount, usage.maximumByteCount),
        ]
        let notes = [counts.map { " · \($0.0) \($0.1)" }.joined(), ""]
        let units = [
            tr("%1 image", plural: "%1 images", count: statistics.count),
            tr("%1 file", plural: "%1 files", count: usage.count),
        ]
        let texts = values.indices.map { index in
            let (byteCount, maximum) = values[index]
            let size = Page.size(byteCount)
            return "\(units[index]) · \(maximum.map { tr("%1 of %2", size, Page.size($0)) } ?? size)\(notes[index])"
        }
        for (level, (text, value)) in zip(levels, zip(texts, values)) {
            setText(level.text, text)
            gtk_level_bar_set_value(OpaquePointer(level.bar), Double(value.0) / Double(max(value.1 ?? .max, 1)))
        }
        isAtRest = texts == shown
        shown = texts
    }
}

/// Where several images came from, each source with their number.
@MainActor
final class SourceCounts {
    private var counts: [LoadSource: Int] = [:]
    private let show: (String) -> Void

    init(_ show: @escaping (String) -> Void) {
        self.show = show
    }

    func add(_ result: Result<ImageResponse, ImageError>) {
        guard let source = try? result.get().source else { return }
        counts[source, default: 0] += 1
        let order: [LoadSource] = [.memory, .disk, .loader, .revalidated]
        show(order.compactMap { source in counts[source].map { "\(source.title) \($0)" } }.joined(separator: ", "))
    }
}

extension ImageResponse {
    /// What the gallery calls the source.
    var sourceTitle: String { source == .loader && url.isFileURL ? tr("file") : source.title }
}

extension LoadSource {
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
