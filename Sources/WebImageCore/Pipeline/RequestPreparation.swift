import FoundationEssentials

/// A request as the stages take it.
package struct PreparedRequest: Sendable {
    package let request: ImageRequest
    /// What the interceptors of the manager are given; `nil` for a load that goes past them.
    var intercepted: ImageRequest?
    /// Whether the memory cache was asked for the image just now, in vain.
    package var hasMissed = false
}

/// From the request of an app to that of the stages, in two steps. Interceptors stand between them.
struct RequestPreparation: PipelineStage {
    let context: StageContext
    private var scaler: ImageScaler? { context.dependencies.scaler }
    private var cacheKeyFilter: CacheKeyFilter? { context.dependencies.cacheKeyFilter }
    private var interceptors: [any ImageIntercepting] { context.dependencies.interceptors }

    /// - Parameter isIntercepted: Whether the load is one that interceptors see. Default: yes.
    func prepare(_ request: ImageRequest, isIntercepted: Bool = true) -> PreparedRequest {
        let processed = process(request)
        let intercepted = isIntercepted && !interceptors.isEmpty ? processed : nil
        return PreparedRequest(request: resolve(processed), intercepted: intercepted)
    }

    /// The request after the function of the app that sees every request.
    func process(_ request: ImageRequest) -> ImageRequest { context.dependencies.requestProcessor?(request) ?? request }

    /// The request for the file that is loaded, with its key.
    func resolve(_ request: ImageRequest) -> ImageRequest {
        var request = request
        if let low = request.lowDataURL, context.dependencies.network.status.isMetered {
            request.url = low
            request.cacheKey = nil
            request.forgetVariants()
        } else if request.hasRareAttributes || scaler != nil {
            chooseVariant(&request)
        }
        if request.cacheKey == nil, let filter = cacheKeyFilter {
            request.cacheKey = filter.key(for: request.url)
        }
        // A range is not the image: it neither comes from what is kept, nor is kept in its place.
        if request.boxedNetworkOptions?.value.headers.field("range") != nil {
            request.cacheAccess.reads = []
            request.cacheAccess.writes = []
        }
        // Radii and widths of lines are those of one size.
        if request.transformer != nil { request.acceptsLarger = false }
        return request
    }

    /// Makes a request for an image of several files one for the file that fits.
    private func chooseVariant(_ request: inout ImageRequest) {
        // A request that was prepared before has the URL of its file, unless the app has changed that since.
        if let choice = request.variantChoice, request.variants == nil, choice.url != request.url {
            request.forgetVariants()
        }
        let variants =
            request.variants ?? request.variantChoice?.variants
            ?? (request.isForHostOfURL ? nil : scaler?.variants(of: request.url))
        if let variants { request.choose(from: variants, cacheKeyFilter) }
    }

    /// Whether an image in memory goes through the interceptors as well.
    /// - Parameter request: The request before ``resolve(_:)``.
    func interceptsMemoryHits(of request: ImageRequest) -> Bool {
        !interceptors.isEmpty && interceptors.contains { $0.interceptsMemoryHits(of: request) }
    }
}
