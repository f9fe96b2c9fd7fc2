internal import CWebImageGtk4
internal import CWebImageGtkShims
import GtkWebImage
import WebImageCore
import WebImageLinux

/// The contents and loads of a ``ZoomView``, owned by the paintable of the widget.
@MainActor
final class ZoomContent {
    struct Load {
        let request: ImageRequest
        let manager: ImageManager
        let limit: Int
        let completion: (@MainActor @Sendable (Result<TiledImage, ImageError>) -> Void)?
    }

    /// The tiles that are being decoded as one region.
    private struct Decode {
        let keys: Set<TileCache.Key>
        let task: Task<Void, Never>
    }

    /// The GdkPaintable, which owns this object.
    let native: OpaquePointer
    let widget: WidgetReference
    private(set) var image: TiledImage?
    private(set) var viewport: ZoomViewport?
    /// The whole image, reduced.
    private(set) var base: (texture: Texture, byteCount: Int, reduction: Int)?
    private(set) var error: ImageError?
    var tiles = TileCache()
    var onChange: (@MainActor () -> Void)?
    var maximumZoom = 8.0 { didSet { change { $0.maximumZoom = maximumZoom } } }

    private var pending: Load?
    private var loading: Task<Void, Never>?
    private var decoding: Decode?
    /// Visible tiles that could not be decoded and are not retried at once.
    private var failed: Set<TileCache.Key> = []
    /// Failed tiles that may succeed later, for example once memory is free, and the task that retries them.
    private var postponed: Set<TileCache.Key> = []
    private var retry: Task<Void, Never>?
    private var retryDelay = ZoomContent.leastRetryDelay
    private var isNotifying = false
    private var accessibility: SlotAccessibility

    init(_ picture: UnsafeMutablePointer<GtkWidget>) {
        native = ZoomPaintable.make()
        widget = WidgetReference(UnsafeMutableRawPointer(picture))
        accessibility = SlotAccessibility(widget)
        ZoomPaintable.connect(native, to: self)
        let object = UnsafeMutableRawPointer(picture)
        object.connect("map") { [weak self] in self?.start() }
        object.connect("unmap") { [weak self] in self?.rest() }
        object.connect("notify::scale-factor") { [weak self] in self?.changed() }
    }

    deinit {
        loading?.cancel()
        decoding?.task.cancel()
        retry?.cancel()
        guard let pending else { return }
        // The last release may happen on any thread.
        MainLoopDispatcher.shared.dispatch {
            MainActor.assumeIsolated { pending.completion?(.failure(.cancelled(pending.request.url))) }
        }
    }

    var isLoading: Bool { pending != nil || loading != nil || decoding != nil || !missingTiles.isEmpty }

    var pixelByteCount: Int { tiles.byteCount + (base?.byteCount ?? 0) }

    private var isMapped: Bool { widget.pointer.map { gtk_widget_get_mapped($0) != 0 } ?? false }

    /// A point of the widget in device pixels.
    func devicePoint(_ x: Double, _ y: Double) -> ZoomViewport.Point {
        let scale = widget.pointer.map(gwi_widget_get_scale) ?? 1
        return ZoomViewport.Point(x: x * scale, y: y * scale)
    }

    // Loading.

    func load(_ load: Load?) {
        let unstarted = pending
        loading?.cancel()
        decoding?.task.cancel()
        (image, viewport, base, error, loading, decoding) = (nil, nil, nil, nil, nil, nil)
        tiles.removeAll()
        forgetFailures()
        pending = load
        accessibility.isBusy = load != nil
        accessibility.hasFailed = false
        changed()
        start()
        if let unstarted { unstarted.completion?(.failure(.cancelled(unstarted.request.url))) }
    }

    private func start() {
        guard isMapped else { return }
        guard let load = pending.take() else { return changed() }
        loading = Task { [weak self] in
            let result: Result<(TiledImage, WebImage, Int), ImageError>
            do throws(ImageError) {
                let image = try await load.manager.tiledImage(for: load.request, maximumByteCount: load.limit)
                let reduction = Self.baseReduction(of: image.size)
                let base = try await image.region(image.bounds, scale: 1 / Double(reduction))
                result = .success((image, base, reduction))
            } catch {
                result = .failure(error)
            }
            // A task is cancelled when another load replaces its load.
            guard !Task.isCancelled else {
                load.completion?(.failure(.cancelled(load.request.url)))
                return
            }
            self?.finish(result)
            load.completion?(result.map { $0.0 })
        }
    }

    private func finish(_ result: Result<(TiledImage, WebImage, Int), ImageError>) {
        loading = nil
        accessibility.isBusy = false
        switch result {
        case .success(let (image, base, reduction)):
            self.image = image
            self.base = (Texture(base.pixels), base.byteCount, reduction)
            var viewport = ZoomViewport(imageSize: image.size)
            viewport.maximumZoom = maximumZoom
            if let widget = widget.pointer {
                viewport.resize(
                    to: devicePoint(Double(gtk_widget_get_width(widget)), Double(gtk_widget_get_height(widget)))
                )
            }
            self.viewport = viewport
        case .failure(let error):
            self.error = error
            accessibility.hasFailed = true
            WebImageLog.notice("\(error)")
        }
        changed()
    }

    /// Cancels decodes and drops tiles while the widget is hidden. The small image stays.
    private func rest() {
        decoding?.task.cancel()
        decoding = nil
        tiles.removeAll()
        forgetFailures()
        if base != nil { error = nil }
    }

    // Moving.

    /// Changes the viewport.
    /// - Returns: Whether the viewport differs.
    @discardableResult
    func change(_ body: (inout ZoomViewport) -> Void) -> Bool {
        guard var viewport else { return false }
        body(&viewport)
        guard viewport != self.viewport else { return false }
        self.viewport = viewport
        changed()
        return true
    }

    /// Follows the size of the widget while it is drawn.
    func resize(to size: ZoomViewport.Point) {
        guard var viewport else { return }
        viewport.resize(to: size)
        guard viewport != self.viewport else { return }
        self.viewport = viewport
        notify()
    }

    private func changed() {
        requestTiles()
        gdk_paintable_invalidate_contents(native)
        notify()
    }

    private func notify() {
        guard !isNotifying, onChange != nil else { return }
        isNotifying = true
        // The handler may change widgets, which is forbidden during a draw.
        Task { [weak self] in
            self?.isNotifying = false
            self?.onChange?()
        }
    }

    // Tiles.

    /// The visible tiles; empty if the small image has the same detail.
    private var visibleTiles: [TileCache.Key] {
        guard let viewport, let base, viewport.grid.reduction < base.reduction else { return [] }
        let grid = viewport.grid
        return grid.tiles(covering: viewport.visibleRect).map { TileCache.Key(reduction: grid.reduction, tile: $0) }
    }

    private func forgetFailures() {
        (failed, postponed, retryDelay) = ([], [], Self.leastRetryDelay)
        retry.take()?.cancel()
    }

    private var missingTiles: [TileCache.Key] {
        visibleTiles.filter { !tiles.contains($0) && !failed.contains($0) }
    }

    /// Decodes missing visible tiles, unless some of them are being decoded.
    func requestTiles() {
        guard isMapped, let image, let viewport else { return }
        // A failed tile that leaves the view is retried when it returns.
        failed.formIntersection(visibleTiles)
        if failed.isEmpty { error = nil }
        let missing = missingTiles
        if let decoding, missing.contains(where: decoding.keys.contains) { return }
        decoding?.task.cancel()
        decoding = nil
        guard !missing.isEmpty else { return }
        let grid = viewport.grid
        // One region contains all tiles, since each decode reads the rows above it.
        let wanted = Array(missing.prefix(Self.largestTileCount))
        let rect = grid.rect(around: wanted.map(\.tile))
        let task = Task { [weak self] in
            let result: Result<[(TileCache.Key, Texture, Int)], ImageError>
            do throws(ImageError) {
                let region = try await image.region(grid.original(rect), scale: 1 / Double(grid.reduction))
                result = .success(await Self.cut(region, of: rect, into: wanted, on: grid))
            } catch {
                result = .failure(error)
            }
            guard !Task.isCancelled else { return }
            self?.finishTiles(result, wanted)
        }
        decoding = Decode(keys: Set(wanted), task: task)
    }

    private func finishTiles(_ result: Result<[(TileCache.Key, Texture, Int)], ImageError>, _ wanted: [TileCache.Key]) {
        decoding = nil
        switch result {
        case .success(let made):
            for (key, texture, byteCount) in made { tiles.insert(texture, byteCount: byteCount, for: key) }
            let missing = wanted.filter { !tiles.contains($0) }
            // Tiles are missing if there was no memory for cutting.
            if missing.isEmpty { retryDelay = Self.leastRetryDelay } else { postpone(missing) }
            tiles.trim(to: tileLimit, keeping: Set(visibleTiles))
        case .failure(let error):
            self.error = error
            if error.isPermanent { failed.formUnion(wanted) } else { postpone(wanted) }
            WebImageLog.notice("\(error)")
        }
        changed()
    }

    /// Retries tiles after a delay, which doubles each time.
    private func postpone(_ keys: [TileCache.Key]) {
        failed.formUnion(keys)
        postponed.formUnion(keys)
        guard retry == nil else { return }
        retry = Task { [weak self, retryDelay] in
            try? await Task.sleep(for: retryDelay)
            guard !Task.isCancelled, let self else { return }
            failed.subtract(postponed)
            (postponed, retry) = ([], nil)
            changed()
        }
        retryDelay = min(retryDelay * 2, Self.mostRetryDelay)
    }

    /// Cuts a region into tiles, on a thread of the cooperative pool.
    private nonisolated static func cut(
        _ region: WebImage,
        of rect: PixelRect,
        into keys: [TileCache.Key],
        on grid: TileGrid
    ) async -> [(TileCache.Key, Texture, Int)] {
        keys.compactMap { key in
            var tile = grid.rect(of: key.tile)
            (tile.x, tile.y) = (tile.x - rect.x, tile.y - rect.y)
            // Copying gives each tile separate memory, which can be freed alone.
            return region.pixels.cropped(to: tile).map { (key, Texture($0), $0.byteCount) }
        }
    }

    /// The most bytes of tiles to keep: six screens of pixels.
    private var tileLimit: Int {
        guard let viewport else { return 0 }
        return max(Int(viewport.viewSize.x * viewport.viewSize.y) * 4 * 6, Self.leastTileBytes)
    }

    private static func baseReduction(of size: PixelSize) -> Int {
        var reduction = 1
        while size.divided(by: reduction).pixelCount > largestBaseCount { reduction *= 2 }
        return reduction
    }

    /// The largest pixel count of the small image: about one screen.
    private static let largestBaseCount = 1 << 21
    /// The largest number of tiles in one region: 12 megapixels.
    private static let largestTileCount = 48
    private static let leastTileBytes = 32 << 20
    private static let leastRetryDelay = Duration.seconds(1)
    private static let mostRetryDelay = Duration.seconds(60)
}

extension WidgetReference {
    /// The widget, if it still exists.
    var pointer: UnsafeMutablePointer<GtkWidget>? { address?.assumingMemoryBound(to: GtkWidget.self) }
}
