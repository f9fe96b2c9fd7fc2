/// Stands around the loads of a manager: it sees the request, and may change it, answer from elsewhere, try again, or look at the
/// result (`ImageManager.Configuration.interceptors`).
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
/// The first interceptor of a configuration is the outermost: its request goes to the second one, and so on, and the response comes
/// back in the opposite order. They stand around what an app asks for, a prefetcher too, after
/// `ImageManager.Configuration.requestProcessor`; not around loads that belong to it, such as fallbacks, previews and the
/// refreshing of stale images, nor around loads of bytes (``ImageManager/data(for:)``), which have no image to answer with.
///
/// A memory hit goes past the interceptors, so that it is shown before `setImage` returns, unless one of them asks for it
/// (``interceptsMemoryHits(of:)``).
///
/// Interceptors run on Swift's global executor and must not block their thread. One that suspends for long holds up its own load only.
/// A load that is cancelled completes at once, and the code of the interceptor is cancelled as Swift tasks are.
public protocol ImageIntercepting: Sendable {
    /// Loads an image, usually by ``InterceptorChain/proceed()``.
    /// - Returns: The response of the load: that of the chain, or one of its own.
    /// - Throws: The error of the load.
    func intercept(_ chain: InterceptorChain) async throws(ImageError) -> ImageResponse

    /// Whether an image that is in memory goes through ``intercept(_:)``, too. It is then shown later than without, since the
    /// interceptor may have an image of its own. Called on the thread that starts the load, the main thread for `setImage`, and must not
    /// block. Default: no.
    func interceptsMemoryHits(of request: ImageRequest) -> Bool
}

extension ImageIntercepting {
    /// Returns false: images in memory are shown at once.
    public func interceptsMemoryHits(of request: ImageRequest) -> Bool { false }
}

/// What follows an interceptor: the next one, and in the end the load itself.
public struct InterceptorChain: Sendable {
    /// The request as the interceptor before has made it.
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
    /// - Throws: The error of the load, with the code ``ImageError/Code/cancelled`` when it was cancelled.
    public func proceed() async throws(ImageError) -> ImageResponse { try await next(request) }

    /// Loads the image of another request. It may be called several times, also at the same time; partial images and progress
    /// come from each.
    /// - Parameter request: A changed copy of ``request``, or a new one. What a new one leaves out about the widget is filled in. Its
    ///   priority becomes that of the load if it is another one.
    /// - Throws: The error of the load, with the code ``ImageError/Code/cancelled`` when it was cancelled.
    public func proceed(with request: ImageRequest) async throws(ImageError) -> ImageResponse {
        try await next(request)
    }
}
