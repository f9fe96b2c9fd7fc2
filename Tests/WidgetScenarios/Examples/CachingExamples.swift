import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

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

private func byHand(url: URL, image: WebImage, data: Data) async {
    let cache = ImageManager.shared.cache
    cache.storeInMemory(image, for: ImageRequest(url: url))
    cache.storeOnDisk(data, for: url)
    await cache.remove(url)
    await cache.removeAllFromDisk()
    print(await cache.diskUsage().byteCount, cache.memoryStatistics.hitCount, cache.path(for: url) ?? "nowhere")
}

private func ownCaches(
    configuration: inout ImageManager.Configuration,
    own: any DataCaching,
    shared: any DataCaching
) {
    configuration.dataCache = DataCacheGroup([own, shared])
}

private func workOffline() {
    ImageManager.shared.isOffline = true
}
