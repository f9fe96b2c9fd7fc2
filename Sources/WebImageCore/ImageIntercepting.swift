/// Wraps the loads of a manager. An interceptor sees the request and may change it, answer it from another source,
/// retry, or look at the result. Set interceptors in `ImageManager.Configuration.interceptors`.
///
///     struct Mirrored: ImageIntercepting {
///         func intercept(_ chain: InterceptorChain) async throws(ImageError) -> ImageResponse {
///             do {
///                 return try await chain.proceed()
///             } catch {
///                 guard error.code == .connectionFailed else { throw error }
///                 var request = chain.request
///                 request.url = mirror(of: request.url)
///                 return try await chain.proceed(with: request)
///             }
///         }
///     }
///
/// The first interceptor of a configuration is the outermost: its request goes to the second one, and so on, and the response
/// comes back in the opposite order. Interceptors see the loads that you start, including those of a prefetcher, after
/// `ImageManager.Configuration.requestProcessor` has run. They do not see the loads that such a load starts itself (fallbacks,
/// previews, refreshes of stale images), nor loads of bytes (``ImageManager/data(for:)``), which have no image to answer with.
///
/// A memory hit skips the interceptors, so that the image is shown before `setImage` returns, unless one of them asks
/// for memory hits (``interceptsMemoryHits(of:)``).
///
/// Interceptors run on Swift's global executor and must not block their thread. An interceptor that suspends for long
/// delays only its own load. A cancelled load completes at once, and the Swift task that runs the interceptor is cancelled.
public protocol ImageIntercepting: Sendable {
    /// Loads an image, usually by ``InterceptorChain/proceed()``.
    /// - Returns: The response of the load: the response of the chain, or your own.
    /// - Throws: The error of the load.
    func intercept(_ chain: InterceptorChain) async throws(ImageError) -> ImageResponse

    /// Whether an image that is in memory also goes through ``intercept(_:)``. It then appears later, after `setImage`
    /// has returned. Called on the thread that starts the load, for `setImage` the main thread, and must not block.
    /// Default: no.
    func interceptsMemoryHits(of request: ImageRequest) -> Bool
}

extension ImageIntercepting {
    /// Returns false: images in memory are shown at once.
    public func interceptsMemoryHits(of request: ImageRequest) -> Bool { false }
}

/// The rest of the chain behind an interceptor: the next interceptor, and finally the load itself.
public struct InterceptorChain: Sendable {
    /// The request as the previous interceptor passed it on.
    public let request: ImageRequest
    private let next: @Sendable (ImageRequest) async throws(ImageError) -> ImageResponse

    init(
        _ request: ImageRequest,
        next: @escaping @Sendable (ImageRequest) async throws(ImageError) -> ImageResponse
    ) {
        self.request = request
        self.next = next
    }

    /// Loads the image of the request.
    /// - Throws: The error of the load. Its code is ``ImageError/Code/cancelled`` if the load was cancelled.
    public func proceed() async throws(ImageError) -> ImageResponse { try await next(request) }

    /// Loads the image of another request. You may call it several times, even concurrently; each call reports partial
    /// images and progress.
    /// - Parameter request: A changed copy of ``request``, or a new one. A new one gets the size and scale of the
    ///   widget from the original. If its priority differs, the whole load gets that priority.
    /// - Throws: The error of the load. Its code is ``ImageError/Code/cancelled`` if the load was cancelled.
    public func proceed(with request: ImageRequest) async throws(ImageError) -> ImageResponse {
        try await next(request)
    }
}
