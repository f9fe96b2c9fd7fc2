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
        code: """
            let statistics = cache.memoryStatistics
            let usage = await cache.diskUsage()
            ImageManager.shared.trimMemory(for: .moderate)
            await cache.removeExpired()
            await cache.removeAll(from: .disk)
            """
    ) { context in
        let cache = ImageManager.shared.cache
        let levels = CacheLevels()
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
                ImageManager.shared.trimMemory(for: .moderate)
                await cache.removeExpired()
                let evicted = count - cache.memoryStatistics.count
                let removed = usage.count - (await cache.diskUsage()).count
                let counts = [(tr("Evicted from memory"), evicted), (tr("removed from disk"), removed)]
                showToast(counts.map { "\($0.0): \($0.1)" }.joined(separator: ", "), in: source.widget)
                levels.changed()
            }
            return
        }
        let buttons = [
            button(tr("Reload"), load),
            button(tr("Clear memory")) {
                Task {
                    await cache.removeAll(from: .memory)
                    levels.changed()
                }
            },
            button(tr("Clear disk")) {
                Task {
                    await cache.removeAll(from: .disk)
                    levels.changed()
                }
            },
            button(tr("Trim"), trim),
        ]
        var content = PageContent(
            box(
                GTK_ORIENTATION_VERTICAL,
                spacing: 18,
                [controls(buttons), flow(strip.map(\.widget), columns: 3), source.widget, levels.widget]
            ),
            owner: levels
        )
        content.isAtRest = { strip.allSatisfy(\.isAtRest) && levels.isAtRest }
        return content
    }
}

/// How full the memory cache and the disk cache are, kept up to date while that is on screen.
@MainActor
private final class CacheLevels {
    private let memory = CacheLevel(tr("Memory"))
    private let disk = CacheLevel(tr("Disk"))
    private let owned: OwnedWidget
    private var observation: ObservationToken?
    /// How often the levels are still to be shown.
    private var roundsLeft = 0

    /// Whether the levels are those of what has been loaded.
    var isAtRest: Bool { roundsLeft == 0 }

    init() {
        owned = OwnedWidget(box(GTK_ORIENTATION_VERTICAL, spacing: 24, [memory.widget, disk.widget]))
        connect(OpaquePointer(widget), "map") { [weak self] in
            self?.observation = ImageManager.shared.observe { [weak self] step in
                guard case .delivered = step.kind else { return }
                Task { @MainActor in self?.changed() }
            }
            self?.changed()
        }
        connect(OpaquePointer(widget), "unmap") { [weak self] in self?.observation = nil }
    }

    var widget: Widget { owned.widget }

    /// Shows the levels now, and for two seconds, since files are written some time after the loads that bring them.
    func changed() {
        let isRunning = roundsLeft > 0
        roundsLeft = 4
        guard !isRunning else { return }
        Task { [weak self] in
            while let self, roundsLeft > 0 {
                await update()
                try? await Task.sleep(for: .milliseconds(500))
                roundsLeft -= 1
            }
        }
    }

    private func update() async {
        let cache = ImageManager.shared.cache
        let usage = await cache.diskUsage()
        let statistics = cache.memoryStatistics
        let counts = [
            (tr("hits"), statistics.hitCount), (tr("misses"), statistics.missCount),
            (tr("evicted"), statistics.evictionCount),
        ]
        memory.show(
            count: statistics.count,
            byteCount: statistics.byteCount,
            maximumByteCount: statistics.maximumByteCount,
            notes: counts.map { " · \($0.0) \($0.1)" }.joined()
        )
        disk.show(count: usage.count, byteCount: usage.byteCount, maximumByteCount: usage.maximumByteCount)
    }
}

/// How full one cache is.
@MainActor
private struct CacheLevel {
    let widget: Widget
    private let text = label("", "caption", "numeric")
    private let bar: Widget

    init(_ title: String) {
        bar = levelBar(title)
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 6, [label(title, "heading"), text, bar])
    }

    func show(count: Int, byteCount: Int, maximumByteCount: Int?, notes: String = "") {
        let size = Page.size(byteCount)
        setText(text, "\(count) · \(maximumByteCount.map { tr("%1 of %2", size, Page.size($0)) } ?? size)\(notes)")
        let share = maximumByteCount.map { Double(byteCount) / Double(max($0, 1)) } ?? 0
        gtk_level_bar_set_value(OpaquePointer(bar), min(share, 1))
    }
}

/// Where several images came from, each source with their number.
@MainActor
private final class SourceNames {
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
