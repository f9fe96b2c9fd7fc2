import FoundationEssentials

/// An image in the memory cache, and the URL of its file.
struct MemoryHit: Sendable {
    let image: WebImage
    let url: URL
}

// Looking into the memory cache. Of an image in several files, a larger one serves as well.
extension Pipeline.Dependencies {
    /// The image that serves a request.
    /// - Parameter isRepeated: Whether the cache was asked for the same load before, so that it counts no second miss.
    func imageInMemory(for request: ImageRequest, isRepeated: Bool = false) -> MemoryHit? {
        var query = MemoryQuery(request)
        query.isRepeated = isRepeated
        if let image = memoryCache.image(for: query) { return MemoryHit(image: image, url: request.url) }
        return imageInMemory(of: request.largerVariants, for: request) { MemoryQuery($0) }
            ?? imageInMemory(of: request.servingLowerVariants.reversed(), for: request) { MemoryQuery($0) }
    }

    /// The largest image of a request, whose size does not matter or is not known yet.
    func imageInMemory(inAnySizeFor request: ImageRequest) -> MemoryHit? {
        func query(_ request: ImageRequest) -> MemoryQuery {
            MemoryQuery(key: ImageKey(request), size: nil, acceptsLarger: true)
        }
        if let rank = request.variantRank {
            let larger = request.largerVariants
            if let hit = imageInMemory(of: larger.reversed(), for: request, query) { return hit }
            if let image = memoryCache.image(for: query(request)) { return MemoryHit(image: image, url: request.url) }
            return imageInMemory(of: (0..<rank).reversed(), for: request, query)
        }
        return memoryCache.image(for: query(request)).map { MemoryHit(image: $0, url: request.url) }
    }

    private func imageInMemory(
        of variants: some Collection<Int>,
        for request: ImageRequest,
        _ query: (ImageRequest) -> MemoryQuery
    ) -> MemoryHit? {
        for rank in variants {
            var query = query(request.reading(variant: rank))
            query.isRepeated = true
            if let image = memoryCache.image(for: query) {
                return MemoryHit(image: image, url: request.with(variant: rank).url)
            }
        }
        return nil
    }
}
