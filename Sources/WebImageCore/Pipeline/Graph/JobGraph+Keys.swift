import FoundationEssentials

// What loads must have in common to share a job or a fetch.

extension JobGraph.Job {
    /// Everything that the image depends on. Tasks with equal keys get the same image.
    struct Key: Hashable, Sendable {
        let image: ImageKey
        let size: DecodeSize
        let fetch: JobGraph.Fetch.Key
        let queriesRenditions: Bool
        /// How partial images are made, if not by default.
        let progressiveOptions: ProgressiveOptions?

        init(_ request: ImageRequest) {
            let isUsual = request.loading == .complete || !request.hasRareAttributes
            progressiveOptions = isUsual ? nil : request.progressiveOptions.ifUnusual
            queriesRenditions = request.readTiers.contains(.renditions)
            image = ImageKey(request)
            size = request.resolvedDecodeSize
            fetch = JobGraph.Fetch.Key(request)
        }

        /// The key of the image in the rendition cache.
        var rendition: String {
            image.renditionKey(size: size)
        }
    }
}

extension JobGraph.Fetch {
    /// Everything that the bytes depend on. Fetches with equal keys get the same bytes from the same places.
    struct Key: Hashable, Sendable {
        let url: String
        let policy: ImageRequest.CachePolicy
        let queriesOriginals: Bool
        let storesOriginals: Bool
        let networkOptions: Box<NetworkOptions>?
        /// The user name and password in the URL, which the keys of the caches do not contain.
        let userInfo: String?
        let loader: ObjectIdentifier?

        init(_ request: ImageRequest) {
            url = request.sourceKey
            userInfo = request.url.userInfo
            policy = request.cachePolicy.forSharing
            queriesOriginals = request.readTiers.contains(.originals)
            storesOriginals = request.cacheAccess.writes.contains(.originals)
            networkOptions = request.boxedNetworkOptions
            loader = request.loader.map { $0.identity }
        }
    }
}

extension ProgressiveOptions {
    /// The options, unless they are those that requests have by default.
    fileprivate var ifUnusual: ProgressiveOptions? { self == ProgressiveOptions() ? nil : self }
}
