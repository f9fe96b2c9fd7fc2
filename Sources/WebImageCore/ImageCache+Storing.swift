public import FoundationEssentials

// Images that the app stores.
extension ImageCache {
    /// Stores an image in memory and, as a file, on disk, as if the request had loaded it.
    ///
    /// Memory has the image when this call returns, and smaller widgets show it as well. The file is encoded on the
    /// decode queue and written afterwards. Only ``CacheWrite/waitUntilWritten()`` waits for that:
    ///
    ///     cache.store(image, for: url)
    ///     try await cache.store(image, for: url, as: .webp).waitUntilWritten()
    ///
    /// Loads decode the file at the size that they need and apply their transformer. Store an image that is already transformed
    /// in memory only, or for a request without the transformer. Other versions of the image are removed from the caches, even
    /// if the file cannot be written. A load that is running may still deliver another version, but does not store it.
    /// - Parameters:
    ///   - image: A complete image.
    ///   - request: A URL or an ``ImageRequest``.
    ///   - tiers: Where the image is stored. Renditions are made by loads. Default: everywhere.
    ///   - format: The format of the file. Default: JPEG with quality 0.9 for a still image without alpha from a file of a
    ///     lossy format, such as a photograph; WebP for an animation, lossless unless its file was lossy; PNG for all others.
    ///   - options: How the file is encoded. Default: see `format`.
    /// - Returns: The pending write, which you need not await.
    @discardableResult
    public func store(
        _ image: WebImage,
        for request: some ImageRequestConvertible,
        in tiers: CacheTiers = .all,
        as format: ImageFormat? = nil,
        options: EncodeOptions? = nil
    ) -> CacheWrite {
        let (write, request) = (CacheWrite(), manager.prepare(request.imageRequest).request)
        guard !image.isPartial else { return write.failing(.isPartial, request.url) }
        guard tiers.contains(.originals) else {
            if tiers.contains(.memory) { storeInMemory(image, request) }
            return write.succeeding()
        }
        let number = parts.storeOrder.begin(request.sourceKey)
        outdate(request.sourceKey)
        if tiers.contains(.memory) { storeInMemory(image, request) }
        guard let dataCache = dataCache(for: request, write) else { return write }
        let encoding = FileEncoding(of: image, as: format, options: options)
        parts.decodeQueue.submit(priority: .low) {
            do throws(ImageError) {
                let data = try parts.coders.encode(image, as: encoding.format, options: encoding.options)
                let entry = entry(data, ResponseMetadata(), for: request)
                let isNewest = parts.storeOrder.commit(entry.key, number: number) {
                    dataCache.accept(entry) { write.finish($0, request.url) }
                }
                guard isNewest else { return write.finish(.removed, request.url) }
                // A load may have read the previous file in the meantime.
                parts.versions.change(entry.key)
                parts.renditionCache?.outdateVariants(of: entry.key)
                finish(write, of: entry, in: dataCache, for: request.url)
            } catch {
                parts.storeOrder.outdate(request.sourceKey, number: number)
                write.finish(.failure(error.of(request.url)))
            }
        }
        return write
    }

    /// Stores the bytes of an image on disk, as if they had been loaded. Loads find them when this call returns.
    ///
    /// Other versions of the image are removed from the caches, even if the bytes cannot be written.
    /// - Parameters:
    ///   - data: The file of the image.
    ///   - request: A URL or an ``ImageRequest``.
    ///   - image: The image decoded from these bytes, for the memory cache. Default: none, so the next load decodes
    ///     them.
    ///   - response: The server's metadata for the bytes. Default: none, so that they stay fresh.
    /// - Returns: The pending write, which you need not await.
    @discardableResult
    public func store(
        _ data: Data,
        for request: some ImageRequestConvertible,
        showing image: WebImage? = nil,
        response: ResponseMetadata = ResponseMetadata()
    ) -> CacheWrite {
        let (write, request) = (CacheWrite(), manager.prepare(request.imageRequest).request)
        parts.storeOrder.outdate(request.sourceKey)
        parts.versions.change(request.sourceKey)
        let (dataCache, entry) = (dataCache(for: request, write), entry(data, response, for: request))
        if let dataCache {
            parts.storeOrder.perform(entry.key) { dataCache.accept(entry) { write.finish($0, request.url) } }
        }
        outdate(request.sourceKey)
        if let image { storeInMemory(image, request) }
        if let dataCache { finish(write, of: entry, in: dataCache, for: request.url) }
        return write
    }

    /// Your own data that is stored with the original of an image on disk, such as its author; `nil` if there is none.
    public func attachment(for request: some ImageRequestConvertible) async -> Data? {
        let key = key(for: request)
        return await perform { parts.dataCache?.metadata(for: key)?.attachment }
    }

    /// Stores your own data with the original of an image on disk.
    ///
    /// It is kept while the server confirms the image, and removed with the image when that is removed, evicted, or replaced by
    /// another version. Images in a read-only directory of the app have no attachment unless they are also stored.
    /// - Parameters:
    ///   - data: At most 64 KiB; `nil` removes them.
    ///   - request: A URL or an ``ImageRequest``.
    /// - Throws: ``ImageError/Code/notStored`` if there is no original, if there are too many bytes, or if the file
    ///   cannot be written, and ``ImageError/Code/cancelled`` if the awaiting task was cancelled.
    public func setAttachment(_ data: Data?, for request: some ImageRequestConvertible) async throws(ImageError) {
        let (write, request) = (CacheWrite(), manager.prepare(request.imageRequest).request)
        if let count = data?.count, count > CacheEntry.maximumAttachmentByteCount {
            throw StoreFailure.attachmentTooLarge(byteCount: count).error(request.url)
        }
        if let dataCache = dataCache(for: request, write) {
            parts.ioQueue.submit(priority: .low) {
                dataCache.attach(data, to: request.sourceKey) { write.finish($0, request.url) }
            }
        }
        try await write.waitUntilWritten()
    }
}

extension ImageCache {
    private func storeInMemory(_ image: WebImage, _ request: ImageRequest) {
        let terms = MemoryTerms(lifetime: request.memoryLifetime ?? parts.memoryLifetime, clock: parts.clock)
        parts.memoryCache.store(MemoryEntry(image, for: ImageKey(request), from: .app, terms: terms))
    }

    private func entry(_ data: Data, _ response: ResponseMetadata, for request: ImageRequest) -> CacheEntry {
        let now = parts.clock.now
        let response = response.living(for: request.diskLifetime, from: now)
        return CacheEntry(key: request.sourceKey, data: data, response: response, storedAt: now)
    }

    /// Removes earlier versions of an image from the caches, except for the original.
    private func outdate(_ key: String) {
        parts.versions.change(key)
        parts.failures.forget(key)
        parts.memoryCache.removeImages(source: key)
        parts.renditionCache?.outdateVariants(of: key)
    }

    /// The cache for the original of a request; `nil` if there is none, and the write has failed.
    private func dataCache(for request: ImageRequest, _ write: CacheWrite) -> (any DataCaching)? {
        guard let dataCache = parts.dataCache else {
            write.finish(.noCache, request.url)
            return nil
        }
        guard parts.loaders.loader(for: request)?.shouldCacheOnDisk(request.url) ?? true else {
            write.finish(.isLocal, request.url)
            return nil
        }
        return dataCache
    }

    /// Writes an accepted entry.
    private func finish(_ write: CacheWrite, of entry: CacheEntry, in dataCache: any DataCaching, for url: URL) {
        parts.ioQueue.submit(priority: .veryLow) {
            dataCache.finishWriting(entry) { write.finish($0, url) }
            parts.renditionCache?.removeVariants(of: entry.key)
        }
    }
}

/// The encoding of an image as a file of the disk cache.
private struct FileEncoding {
    let format: ImageFormat
    var options: EncodeOptions

    init(of image: WebImage, as format: ImageFormat?, options: EncodeOptions?) {
        self.options = options ?? EncodeOptions()
        let isLossy = image.format.descriptor?.isLossy == true
        if image.animation != nil, !self.options.isFirstFrameOnly {
            self.format = format ?? .webp
            if options == nil { self.options.isLossless = !isLossy }
        } else {
            self.format = format ?? (isLossy && !image.content.pixels.hasAlpha ? .jpeg : .png)
        }
    }
}

extension CacheWrite {
    fileprivate func succeeding() -> CacheWrite {
        finish(.success(()))
        return self
    }

    fileprivate func failing(_ failure: StoreFailure, _ url: URL) -> CacheWrite {
        finish(failure, url)
        return self
    }

    fileprivate func finish(_ failure: StoreFailure?, _ url: URL) {
        finish(failure.map { .failure($0.error(url)) } ?? .success(()))
    }
}

extension ImageError {
    /// The error with the URL, which an encoder does not know.
    fileprivate func of(_ url: URL) -> ImageError {
        self.url == nil ? ImageError(code, url: url, reason: reason, remedy: remedy) : self
    }
}
