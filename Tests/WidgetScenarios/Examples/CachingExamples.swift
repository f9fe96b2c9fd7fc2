import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import Synchronization

// The samples of Caching.md, compiled. What they do not declare is a parameter here.

@MainActor
private func limits(picture: Picture, url: URL) {
    var configuration = ImageManager.Configuration()
    configuration.memoryCacheLimit = 64 << 20
    var disk = ImageManager.Configuration.DiskCache(namespace: "avatars")
    disk.sizeLimit = 50_000_000
    disk.maximumAge = .seconds(30 * 86_400)
    disk.expiry = .stored
    configuration.diskCache = disk
    let avatars = ImageManager(configuration: configuration)
    picture.setImage(with: url, manager: avatars)
}

@MainActor
private func freshness(picture: Picture, url: URL) {
    picture.setImage(with: ImageRequest(url: url, cachePolicy: .refresh))
    picture.setImage(with: ImageRequest(url: url, cachePolicy: .cachedElseLoad))
    picture.setImage(with: ImageRequest(url: url, cachePolicy: .cachedOnly))
}

private func names(configuration: inout ImageManager.Configuration, request: inout ImageRequest, user: String) {
    configuration.cacheKeyFilter = .withoutQueryItems()
    configuration.cacheKeyFilter = CacheKeyFilter { url in url.host() == "cdn.example.org" ? url.path() : nil }
    request.cacheKey = "avatar of \(user)"

    request.cacheAccess = CacheAccess(reads: [.memory, .originals], writes: .memory)
    request.cacheAccess = .awaitingWrites
}

private func byHand(url: URL, request: ImageRequest) async {
    let cache = ImageManager.shared.cache
    await cache.remove(url)
    await cache.removeAllFromDisk()
    let (disk, memory) = (await cache.diskUsage(), cache.memoryStatistics)
    print(disk.count, disk.byteCount, memory.count, memory.byteCount, memory.hitCount)
    print(cache.path(for: url) ?? "no disk cache")
    print(await cache.tiers(containing: request), ImageManager.shared.cacheKey(for: request))
}

private func store(cache: ImageCache, url: URL, image: WebImage, data: Data) async throws {
    cache.store(image, for: url)
    cache.store(image, for: url, in: .memory)
    try await cache.store(image, for: url, as: .webp).waitUntilWritten()
    cache.store(data, for: url, showing: image)
}

@MainActor
private func own(cache: ImageCache, image: WebImage, picture: Picture) async throws {
    var portrait = ImageRequest(url: URL(string: "app:portrait")!, cachePolicy: .cachedOnly)
    portrait.cacheLifetime.disk = .seconds(90 * 86_400)
    try await cache.store(image, for: portrait).waitUntilWritten()
    picture.setImage(with: portrait)
}

private func attach(cache: ImageCache, url: URL) async throws {
    try await cache.setAttachment(Data("by Ada".utf8), for: url)
    let author = await cache.attachment(for: url)
    _ = author
}

private func workOffline() {
    ImageManager.shared.isOffline = true
}

private func lifetimes(request: inout ImageRequest, configuration: inout ImageManager.Configuration) {
    request.cacheLifetime = CacheLifetime(memory: .seconds(300), disk: .seconds(90 * 86_400))
    configuration.memoryCacheLifetime = .seconds(3600)
}

final class AppImages: MemoryCaching {
    private let entries = Mutex<[ImageKey: [MemoryEntry]]>([:])

    func entry(for query: MemoryQuery) -> MemoryEntry? { entries.withLock { query.best(of: $0[query.key] ?? []) } }
    func store(_ entry: MemoryEntry) {
        entries.withLock { entries in
            entries[entry.key, default: []].removeAll { entry.replaces($0) }
            entries[entry.key, default: []].append(entry)
        }
    }
    func removeImages(source: String) { entries.withLock { $0 = $0.filter { $0.key.source != source } } }
    func removeAll() { entries.withLock { $0 = [:] } }
    func trim(toShare share: Double) { removeAll() }
}

final class AppData: DataCaching {
    private let entries = Mutex<[String: CacheEntry]>([:])

    func entry(for key: String) -> CacheEntry? { entries.withLock { $0[key] } }
    func store(_ entry: CacheEntry) { entries.withLock { $0[entry.key] = entry } }
    func remove(_ key: String) { entries.withLock { $0[key] = nil } }
    func removeAll() { entries.withLock { $0 = [:] } }
    var usage: CacheUsage {
        entries.withLock { CacheUsage(count: $0.count, byteCount: $0.values.reduce(0) { $0 + $1.data.count }) }
    }
}
