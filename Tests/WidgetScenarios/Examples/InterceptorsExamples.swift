import FoundationEssentials
import GtkWebImage

// The samples of Interceptors.md, compiled. What they do not declare is beside them.

struct Mirror: ImageIntercepting {
    func intercept(_ chain: InterceptorChain) async throws(ImageError) -> ImageResponse {
        do {
            return try await chain.proceed()
        } catch {
            guard error.httpStatus == 404, chain.request.url.host() == "images.example.org" else { throw error }
            var request = chain.request
            request.url = URL(string: "https://mirror.example.org" + request.url.path()) ?? request.url
            return try await chain.proceed(with: request)
        }
    }
}

struct Stopwatch: ImageIntercepting {
    func intercept(_ chain: InterceptorChain) async throws(ImageError) -> ImageResponse {
        let start = ContinuousClock.now
        defer { print(chain.request.url, ContinuousClock.now - start) }
        return try await chain.proceed()
    }
}

private func configure(_ configuration: inout ImageManager.Configuration) {
    configuration.interceptors = [Stopwatch(), Mirror()]
}

struct Initials: ImageIntercepting {
    func intercept(_ chain: InterceptorChain) async throws(ImageError) -> ImageResponse {
        guard chain.request.url.scheme == "initials" else { return try await chain.proceed() }
        return ImageResponse(image: drawn(chain.request.url), source: .loader, url: chain.request.url)
    }

    /// Stands for drawing.
    private func drawn(_ url: URL) -> WebImage {
        WebImage(pixels: PixelBuffer(size: PixelSize(width: 1, height: 1), format: .rgb) { $0[0] = 1 }!)
    }
}

struct Private: ImageIntercepting {
    func intercept(_ chain: InterceptorChain) async throws(ImageError) -> ImageResponse { try await chain.proceed() }

    func interceptsMemoryHits(of request: ImageRequest) -> Bool {
        request.url.path(percentEncoded: false).hasPrefix("/private/")
    }
}
