internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import Synchronization

/// What the memory cache and the disk cache hold, kept up to date while it is on screen.
@MainActor
final class CacheContents {
    private let owned: OwnedWidget
    private let memory = CacheShelf(tr("Memory"), removeName: tr("Remove from memory"))
    private let disk = CacheShelf(tr("Disk"), removeName: tr("Remove from disk"))
    private let context: PageContext
    private var observation: ObservationToken?
    private let isStale = Flag()
    /// Brings the contents up to date.
    private var work: Task<Void, Never>?
    /// The time between two updates, which a change cuts short.
    private var pause: Task<Void, Never>?
    private var isUpdating = false

    private var cache: ImageCache { ImageManager.shared.cache }

    init(_ context: PageContext) {
        self.context = context
        owned = OwnedWidget(box(GTK_ORIENTATION_VERTICAL, spacing: 24, [memory.widget, disk.widget]))
        observation = ImageManager.shared.observe { [weak self, isStale] step in
            guard step.changesCaches, isStale.raise() else { return }
            Task { @MainActor in self?.pause?.cancel() }
        }
        connect(OpaquePointer(widget), "map") { [weak self] in self?.start() }
        connect(OpaquePointer(widget), "unmap") { [weak self] in self?.stop() }
    }

    var widget: Widget { owned.widget }

    /// Whether all is shown that is known to be there.
    var isAtRest: Bool {
        // What is not on screen is brought up to date when it comes there.
        guard gtk_widget_get_mapped(widget) != 0 else { return true }
        return !isStale.isRaised && !isUpdating && memory.isAtRest && disk.isAtRest
    }

    /// Shows the contents again because something was removed.
    func changed() {
        if isStale.raise() { pause?.cancel() }
    }

    private func start() {
        stop()
        isStale.raise()
        work = Task { [weak self] in await self?.keepUpToDate() }
    }

    private func stop() {
        work?.cancel()
        pause?.cancel()
    }

    /// Files are written, and files that are too old are removed, some time after the loads that cause it. Then the ages change.
    /// An update comes to its end whatever is loaded meanwhile, and another one follows.
    private func keepUpToDate() async {
        var quietRounds = 0
        while !Task.isCancelled {
            isUpdating = true
            // Loads come in crowds.
            try? await Task.sleep(for: .milliseconds(100))
            isStale.lower()
            let hasChanged = await update()
            guard !Task.isCancelled else { return }
            isUpdating = false
            quietRounds = hasChanged ? 0 : quietRounds + 1
            if !isStale.isRaised { await rest(quietRounds < 3 ? .seconds(1) : .seconds(30)) }
        }
    }

    private func rest(_ time: Duration) async {
        let pause = Task { _ = try? await Task.sleep(for: time) }
        self.pause = pause
        await pause.value
    }

    /// - Returns: Whether something has changed.
    private func update() async -> Bool {
        let files = await cache.diskFiles(limit: 24)
        let usage = await cache.diskUsage()
        guard !Task.isCancelled else { return false }
        let images = cache.memoryEntries(limit: 24)
        let statistics = cache.memoryStatistics
        var level = CacheShelf.Level(
            count: statistics.count,
            byteCount: statistics.byteCount,
            byteLimit: statistics.byteLimit
        )
        let counts = [
            (tr("hits"), statistics.hitCount), (tr("misses"), statistics.missCount),
            (tr("evicted"), statistics.evictionCount),
        ]
        level.notes = counts.map { " · \($0.0) \($0.1)" }.joined()
        let inMemory = memory.update(images.sorted { $0.storedAt > $1.storedAt }.map(item), level)
        level = CacheShelf.Level(count: usage.count, byteCount: usage.byteCount, byteLimit: usage.byteLimit)
        let onDisk = disk.update(files.map(item), level)
        return inMemory || onDisk
    }

    private func item(_ entry: MemoryEntry) -> CacheShelf.Item {
        let size = entry.image.pixelSize
        return CacheShelf.Item(
            id: entry.id,
            url: context.server.address(ofKey: entry.key.source),
            byteCount: entry.image.cost,
            date: entry.storedAt,
            detail: "\(size.width) × \(size.height)",
            show: { $0.setImage(entry.image) },
            remove: { [weak self] in
                self?.cache.removeFromMemory(entry)
                self?.changed()
            }
        )
    }

    private func item(_ file: CachedFile) -> CacheShelf.Item {
        // A key may be any text, and no loader is asked for the URL.
        let url = URL(string: file.key) ?? URL(string: "cached:image")!
        var request = ImageRequest(url: url, cachePolicy: .cachedOnly)
        request.cacheKey = file.key
        // A thumbnail in memory would be one more image in the cache that is shown.
        request.cacheAccess = CacheAccess(reads: .disk, writes: [])
        request.isFirstFrameOnly = true
        return CacheShelf.Item(
            id: file,
            url: context.server.address(ofKey: file.key),
            byteCount: file.byteCount,
            date: file.storedAt,
            detail: file.isRendition ? tr("Rendition") : tr("Original"),
            note: file.pixelSize.map { "\n\($0.width) × \($0.height). \(tr("The thumbnail shows the original."))" }
                ?? "",
            show: { [request] picture in
                if file.isRendition { picture.errorPlaceholder = .icon("image-x-generic-symbolic") }
                picture.setImage(with: request)
            },
            remove: { [weak self] in
                Task {
                    await self?.cache.remove(file)
                    self?.changed()
                }
            }
        )
    }
}

extension LoadTraceEvent {
    /// Whether the caches may have other contents after the step.
    fileprivate var changesCaches: Bool {
        switch kind {
        case .stored, .delivered(.disk), .delivered(.loader), .delivered(.revalidated): true
        default: false
        }
    }
}

/// Something to be done, which any thread may ask for.
private final class Flag: Sendable {
    private let value = Mutex(false)

    var isRaised: Bool { value.withLock { $0 } }

    /// - Returns: Whether nobody had asked for it.
    @discardableResult
    func raise() -> Bool {
        value.withLock { value in
            defer { value = true }
            return !value
        }
    }

    func lower() { value.withLock { $0 = false } }
}
