import FoundationEssentials

/// An image in the memory cache, and the URL of its file.
struct MemoryHit: Sendable {
    let entry: MemoryEntry
    let url: URL
    var image: WebImage { entry.image }

    /// The response of a load that ends with the image.
    var response: ImageResponse { ImageResponse(image: image, source: .memory, url: url) }
}

/// Looks into the memory cache. For an image that has several files, a larger file is also a hit.
package struct MemoryLookUp: PipelineStage {
    let context: StageContext

    /// Prepares the request of a binding, which calls code of the app, and looks for its image before the load starts. A hit
    /// that ends the load is reported to the observers.
    /// - Parameters:
    ///   - inAnySize: Whether the size is not known yet, so that the largest image is best. Such a look counts no miss.
    ///   - startsNow: Whether the load starts within the same call, so that memory is not asked again.
    /// - Returns: The image to show within the same call, and the response if the load ends with that image.
    package func hit(
        forBinding request: ImageRequest,
        inAnySize: Bool,
        startsNow: Bool = false
    ) -> (request: PreparedRequest, image: WebImage?, response: ImageResponse?) {
        var prepared = preparation.prepare(request)
        var found: MemoryHit?
        if prepared.request.readTiers.contains(.memory),
            prepared.intercepted.map({ preparation.interceptsMemoryHits(of: $0) }) != true
        {
            found = inAnySize ? hit(inAnySizeFor: prepared.request) : hit(for: prepared.request, isRepeated: !startsNow)
        }
        prepared.hasMissed = found == nil && startsNow && !inAnySize
        guard let found, !prepared.request.includesData, ends(prepared.request, found) else {
            return (prepared, found?.image, nil)
        }
        let response = found.response
        observers.notify(prepared.request.url, .requested)
        observers.notify(prepared.request.url, .memoryHit)
        observers.notify(prepared.request.url, .delivered(.memory), with: response)
        return (prepared, found.image, response)
    }

    /// The image in memory that answers a request.
    /// - Parameter isRepeated: Whether a miss is not counted, because another look of the same load counts it.
    func hit(for request: ImageRequest, isRepeated: Bool = false) -> MemoryHit? {
        var query = MemoryQuery(request)
        query.isRepeated = isRepeated
        if let entry = memoryCache.entry(for: query, answering: request) {
            return MemoryHit(entry: entry, url: request.url)
        }
        return hit(of: request.largerVariants, for: request) { MemoryQuery($0) }
    }

    /// The largest image of a request whose size does not matter yet. Only the look at the right size counts a miss.
    func hit(inAnySizeFor request: ImageRequest) -> MemoryHit? {
        func query(_ request: ImageRequest) -> MemoryQuery {
            var query = MemoryQuery(key: ImageKey(request), size: nil, acceptsLarger: true)
            query.isRepeated = true
            return query
        }
        if let rank = request.variantRank {
            let larger = request.largerVariants
            if let hit = hit(of: larger.reversed(), for: request, query) { return hit }
            if let entry = memoryCache.entry(for: query(request), answering: request) {
                return MemoryHit(entry: entry, url: request.url)
            }
            return hit(of: (0..<rank).reversed(), for: request, query)
        }
        return memoryCache.entry(for: query(request), answering: request).map { MemoryHit(entry: $0, url: request.url) }
    }

    private func hit(
        of variants: some Collection<Int>,
        for request: ImageRequest,
        _ query: (ImageRequest) -> MemoryQuery
    ) -> MemoryHit? {
        for rank in variants {
            var query = query(request.reading(variant: rank))
            query.isRepeated = true
            if let entry = memoryCache.entry(for: query, answering: request) {
                return MemoryHit(entry: entry, url: request.with(variant: rank).url)
            }
        }
        return nil
    }

    /// Whether an image in memory ends a load. If not, the server is asked, because the request wants that or the
    /// response is stale (RFC 9111, section 4).
    func ends(_ request: ImageRequest, _ hit: MemoryHit) -> Bool {
        !request.cachePolicy.revalidatesCachedImage && !validates(hit.entry, for: request)
    }

    private func validates(_ entry: MemoryEntry, for request: ImageRequest) -> Bool {
        // The validators are in the disk cache.
        guard let time = entry.terms?.staleTime, time < .infinity, request.cachePolicy.validatesStaleImage,
            dataCache != nil, request.readTiers.contains(.originals)
        else { return false }
        return time <= clock.now.timeIntervalSince1970
    }
}

extension MemoryCache {
    /// The entry for a query, unless its response depends on header fields that a request does not have.
    func entry(for query: MemoryQuery, answering request: ImageRequest) -> MemoryEntry? {
        entry(for: query).flatMap { $0.terms?.varying?.matches(request) ?? true ? $0 : nil }
    }

    /// The entry that answers a request.
    func entry(for request: ImageRequest) -> MemoryEntry? { entry(for: MemoryQuery(request), answering: request) }
}
