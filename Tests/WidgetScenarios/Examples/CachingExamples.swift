import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import Synchronization

// The samples of Caching.md, compiled. What they do not declare is a parameter here.

@MainActor
private func limits(picture: Picture, url: URL) {
    var configuration = ImageManager.Configuration()
    configuration.maximumMemoryCacheByteCount = 64 << 20
    var disk = ImageManager.Configuration.DiskCache(namespace: "avatars")
    disk.maximumByteCount = 50_000_000
    disk.maximumAge = .seconds(30 * 86_400)
    configuration.diskCache = disk
    let avatars = ImageManager(configuration: configuration)
    picture.imageBinding.manager = avatars
    picture.setImage(with: url)
}

@MainActor
private func freshness(picture: Picture, url: URL) {
    picture.setImage(with: ImageRequest(url: url, cachePolicy: .refresh))
}

private func lifetimes(url: URL) -> ImageRequest {
    var request = ImageRequest(url: url)
    request.cacheLifetime = CacheLifetime(memory: .seconds(300), disk: .seconds(90 * 86_400))
    return request
}

private func workOffline() {
    ImageManager.shared.isOffline = true
}

private func keyOfAllRequests() -> ImageManager.Configuration {
    var configuration = ImageManager.Configuration()
    configuration.cacheKeyFilter = .withoutQueryItems()
    return configuration
}

private func keyOfOneRequest(url: URL, user: String) -> ImageRequest {
    var request = ImageRequest(url: url)
    request.cacheKey = "avatar of \(user)"
    return request
}

private func access(url: URL) -> ImageRequest {
    var request = ImageRequest(url: url)
    request.cacheAccess = CacheAccess(reads: [.memory, .originals], writes: .memory)
    return request
}

private func byHand(url: URL) async {
    let cache = ImageManager.shared.cache
    await cache.remove(url)
    await cache.removeAll(from: .disk)
    let (disk, memory) = (await cache.diskUsage(), cache.memoryStatistics)
    print(disk.count, disk.byteCount, memory.count, memory.byteCount, memory.hitCount)
    print(cache.path(for: url) ?? "no disk cache")
    print(await cache.tiers(containing: url), ImageManager.shared.cacheKey(for: url))
}

private func store(url: URL, image: WebImage, data: Data) async throws {
    let cache = ImageManager.shared.cache
    cache.store(image, for: url)
    try await cache.store(data, for: url, showing: image).waitUntilWritten()
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
