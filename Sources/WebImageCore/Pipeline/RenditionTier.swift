import FoundationEssentials

/// The decoded copies on disk, at the sizes at which images are shown.
struct RenditionTier: PipelineStage {
    let context: StageContext
    var cache: DiskCache? { context.dependencies.renditionCache }
    private var coder: (any RenditionCoding)? { context.dependencies.renditionCoder }

    /// Whether a request reads or writes a rendition. An image at its original size decodes as quickly from the original.
    func isUsed(by request: ImageRequest) -> Bool {
        guard cache != nil, request.resolvedDecodeSize != .original || request.transformer != nil else { return false }
        guard let loader = loaders.loader(for: request) else { return false }
        return loader.shouldCacheOnDisk(request.url) || loader.isOfFiles
    }

    /// Whether a request reads a rendition.
    func isQueried(by request: ImageRequest) -> Bool {
        // For a local file, the bytes and the image come with one read; a rendition would cost an additional decode.
        request.readTiers.contains(.renditions) && isUsed(by: request)
            && !(request.includesData && fileLoader(for: request) != nil)
    }

    /// The loader of a local file, which may have changed since its rendition was made; `nil` for other loaders.
    func fileLoader(for request: ImageRequest) -> LocalLoader? {
        loaders.loader(for: request).flatMap { $0.isOfFiles ? $0 as? LocalLoader : nil }
    }

    /// The image of an entry; `nil` if the entry is damaged.
    func image(of entry: CacheEntry, options: DecodeOptions) -> WebImage? {
        // The size comes from a file, so it may not exceed what a decoder may allocate.
        guard let info = entry.rendition, info.size == info.size.bounded,
            info.size.pixelCount <= options.maximumPixelCount,
            let pixels = coder?.decode(entry.data, info)
        else { return nil }
        return info.image(pixels, options)
    }

    /// The encoded entry of an image; `nil` if the image is not worth storing.
    /// - Parameters:
    ///   - job: The job that decoded the image.
    ///   - originalDate: The date of the original that the image was decoded from (``CacheEntry/storedAt``), or the
    ///     date of the load if the original is not kept.
    func entry(
        for image: WebImage,
        of job: JobGraph.Job,
        response: ResponseMetadata,
        originalDate: Date
    ) -> CacheEntry? {
        // The rendition of an animation would be a still image.
        guard image.animation == nil, let cache, isUsed(by: job.request),
            job.tasks.contains(where: { $0.request.cacheAccess.writes.contains(.renditions) }),
            // A file that is changing has no version yet, so an outdated rendition could not be detected.
            response.etag != nil || fileLoader(for: job.request) == nil,
            // A rendition with fewer than half of the pixels decodes faster than the original.
            job.request.transformer != nil
                || image.decodedSize.pixelCount * 2 <= image.naturalSizeBeforeTransform.pixelCount,
            let (data, encoding) = coder?.encode(image, hasRoom: cache.isHalfEmpty)
        else { return nil }
        var entry = CacheEntry(key: job.key.rendition, data: data, response: response, storedAt: clock.now)
        entry.rendition = RenditionInfo(image, encoding: encoding, source: originalDate)
        return entry
    }
}
