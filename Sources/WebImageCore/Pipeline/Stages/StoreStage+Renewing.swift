import FoundationEssentials

// What becomes of stored entries after an answer of the server, or after a file that is not an image.
extension StoreStage {
    /// Updates an entry with the header fields of a 304 (RFC 9111, section 4.3.4).
    func renew(_ entry: CacheEntry, with response: ResponseMetadata) -> CacheEntry {
        var entry = entry
        entry.response = renewed(entry.response, by: response)
        guard let dataCache else { return entry }
        if CacheDirectives(response.cacheControl).isNoStore {
            removeFromDisk(entry.key)
        } else {
            // Data that the app has attached in the meantime must stay.
            dataCache.renew(entry) { $0.response = renewed($0.response, by: response) }
            writer.schedule()
        }
        return entry
    }

    private func renewed(_ response: ResponseMetadata, by newer: ResponseMetadata) -> ResponseMetadata {
        response.renewed(by: newer).living(for: nil, from: clock.now)
    }

    /// Removes an entry that is intact but not an image.
    func removeUndecodable(_ data: FetchedData, _ request: ImageRequest) {
        guard data.origin != .loader, versions.isCurrent(data.mark, of: request.sourceKey) else { return }
        removeFromDisk(request.sourceKey)
    }

    /// Removes the original and all renditions of a URL, in the background.
    func removeFromDisk(_ key: String) {
        removeOriginal(key)
        ioQueue.submit(priority: .veryLow) { [renditions] in renditions.cache?.removeVariants(of: key) }
    }

    /// - Parameter version: The mark of bytes that replace the original but are not kept.
    func removeOriginal(_ key: String, for version: ImageVersions.Mark? = nil) {
        let mark = versions.mark()
        ioQueue.submit(priority: .veryLow) { [dataCache, storeOrder, versions] in
            storeOrder.perform(key) {
                guard versions.isCurrent(mark, of: key) else { return }
                dataCache?.remove(key)
                if let version { versions.change(key, to: version) }
            }
        }
    }

    /// Adds a ThumbHash to an original that was stored without one.
    func addThumbHash(of image: WebImage, to entry: CacheEntry) {
        guard context.dependencies.keepsThumbHashes, entry.thumbHash == nil, let dataCache else { return }
        ioQueue.submit(priority: .veryLow) { [writer] in
            // The original may have been replaced or removed in the meantime.
            guard dataCache.metadata(for: entry.key)?.storedAt == entry.storedAt else { return }
            let hash = image.upright.flatMap { ThumbHash(of: $0) }
            dataCache.renew(entry) { $0.thumbHash = hash }
            writer.schedule()
        }
    }

    /// Removes the renditions of an outdated version of an image. Lookups stop finding them at once.
    func outdateRenditions(of key: String) {
        guard let cache = renditions.cache else { return }
        cache.outdateVariants(of: key)
        writer.schedule()
    }

    /// Updates the renditions of a fetch, whose original is no longer cached, with the header fields of a 304.
    func renewRenditions(of id: JobGraph.Fetch.ID, with response: ResponseMetadata) {
        guard let cache = renditions.cache else { return }
        let (found, key) = graph.withLock { ($0.renditions(of: id), $0.fetches[id]?.key.url) }
        guard let key, !found.isEmpty else { return }
        if CacheDirectives(response.cacheControl).isNoStore { return removeFromDisk(key) }
        for (var entry, mark) in found where versions.isCurrent(mark, of: key) {
            entry.response = renewed(entry.response, by: response)
            cache.storeRenewed(entry)
        }
        writer.schedule()
    }
}
