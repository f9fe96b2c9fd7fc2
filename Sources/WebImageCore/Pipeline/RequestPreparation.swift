import FoundationEssentials

/// A request as the stages use it.
package struct PreparedRequest: Sendable {
    package var request: ImageRequest
    /// The request that the interceptors of the manager receive; `nil` for a load that skips them.
    var intercepted: ImageRequest?
    /// ``MemoryCache/storeCount`` when memory did not have the image; -1 if it was not asked.
    var storeCountAtLook = -1
    /// Whether another `decodeSize` would change nothing else, because neither code of the app nor the choice of a file has seen it.
    package var isForAnySize = false
}

/// Turns the request of an app into the request of the stages, in two steps. Interceptors run between the two steps.
struct RequestPreparation: PipelineStage {
    let context: StageContext
    private var scaler: ImageScaler? { context.dependencies.scaler }
    private var cacheKeyFilter: CacheKeyFilter? { context.dependencies.cacheKeyFilter }
    private var interceptors: [any ImageIntercepting] { context.dependencies.interceptors }

    func prepare(_ request: consuming ImageRequest) -> PreparedRequest {
        if context.dependencies.requestProcessor != nil { request = process(request) }
        let intercepted = interceptors.isEmpty ? nil : copy request
        resolve(&request)
        var prepared = PreparedRequest(request: request, intercepted: intercepted)
        let isSeen = context.dependencies.requestProcessor != nil || intercepted != nil || scaler != nil
        prepared.isForAnySize = !isSeen && !prepared.request.hasRareAttributes
        return prepared
    }

    /// The request after the app's request processor.
    func process(_ request: ImageRequest) -> ImageRequest { context.dependencies.requestProcessor?(request) ?? request }

    /// Turns the request into one for the file to load, with its key.
    func resolve(_ request: inout ImageRequest) {
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
        // A range is not the whole image, so it must neither come from the caches nor replace an image in them.
        if request.boxedNetworkOptions?.value.headers.field("range") != nil {
            request.cacheAccess.reads = []
            request.cacheAccess.writes = []
        }
        // Radii and line widths of a transformer fit one size only.
        if request.transformer != nil { request.acceptsLarger = false }
    }

    /// Turns a request for an image in several files into a request for the file that fits.
    private func chooseVariant(_ request: inout ImageRequest) {
        // A request that was prepared before has the URL of its file, unless the app has changed the URL since.
        if let choice = request.variantChoice, request.variants == nil, choice.url != request.url {
            request.forgetVariants()
        }
        let variants =
            request.variants ?? request.variantChoice?.variants
            ?? (request.isForHostOfURL ? nil : scaler?.variants(of: request.url))
        if let variants { request.choose(from: variants, cacheKeyFilter) }
    }
}
