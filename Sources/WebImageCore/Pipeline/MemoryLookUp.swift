import FoundationEssentials
import Synchronization

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

    /// Looks for the image of a binding before its load starts, and notes a miss in the request. A hit that ends the load is
    /// reported to the observers.
    /// - Parameter inAnySize: Whether the size is not known yet, so that the largest image is best.
    /// - Returns: The image to show within the same call, and the response if the load ends with that image.
    package func hit(
        forBinding prepared: inout PreparedRequest,
        inAnySize: Bool
    ) -> (image: WebImage?, response: ImageResponse?) {
        guard prepared.request.readTiers.contains(.memory),
            prepared.intercepted.map({ preparation.interceptsMemoryHits(of: $0) }) != true
        else { return (nil, nil) }
        // The load counts its miss when it starts.
        let storeCount = memoryCache.storeCount
        guard let found = hit(for: prepared.request, inAnySize: inAnySize, isRepeated: true) else {
            prepared.storeCountAtLook = storeCount
            return (nil, nil)
        }
        guard !prepared.request.includesData, ends(prepared.request, found) else { return (found.image, nil) }
        let response = found.response
        if observers.isActive {
            observers.notify(prepared.request.url, .requested)
            observers.notify(prepared.request.url, .memoryHit)
            observers.notify(prepared.request.url, .delivered(.memory), with: response)
        }
        return (found.image, response)
    }

    /// The image in memory that answers a task. After a look, only an image that was stored since can answer it.
    func hit(for task: ImageTask, isRepeated: Bool = false) -> MemoryHit? {
        let storeCount = memoryCache.storeCount
        guard task.storeCountAtLook.exchange(storeCount, ordering: .relaxed) != storeCount else {
            if !isRepeated { memoryCache.countMiss() }
            return nil
        }
        return hit(for: task.request, isRepeated: isRepeated)
    }

    /// Whether no image was stored since the last look for a task.
    func hasLooked(for task: ImageTask) -> Bool {
        task.storeCountAtLook.load(ordering: .relaxed) == memoryCache.storeCount
    }

    /// The image in memory that answers a request.
    /// - Parameters:
    ///   - inAnySize: Whether the size does not matter yet, so that the largest image is best.
    ///   - isRepeated: Whether a miss is not counted, because another look of the same load counts it.
    func hit(for request: ImageRequest, inAnySize: Bool = false, isRepeated: Bool = false) -> MemoryHit? {
        let larger = request.largerVariants
        if inAnySize, let hit = hit(among: larger.reversed(), of: request, inAnySize: true) { return hit }
        let query = MemoryQuery(request, inAnySize: inAnySize, isRepeated: isRepeated)
        if let entry = memoryCache.entry(for: query, answering: request) {
            return MemoryHit(entry: entry, url: request.url)
        }
        guard inAnySize else { return hit(among: larger, of: request, inAnySize: false) }
        return hit(among: (0..<(request.variantRank ?? 0)).reversed(), of: request, inAnySize: true)
    }

    /// The first of several files of an image that memory has.
    private func hit(among files: some Collection<Int>, of request: ImageRequest, inAnySize: Bool) -> MemoryHit? {
        for rank in files {
            let query = MemoryQuery(request.reading(variant: rank), inAnySize: inAnySize, isRepeated: true)
            guard let entry = memoryCache.entry(for: query, answering: request) else { continue }
            return MemoryHit(entry: entry, url: request.with(variant: rank).url)
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
