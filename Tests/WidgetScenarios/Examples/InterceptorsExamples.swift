import FoundationEssentials
import GtkWebImage

// The samples of Interceptors.md, compiled. What they do not declare is beside them.

protocol Account: Sendable {
    var token: String { get }
    func renewedToken() async -> String
}

private func signed(_ request: ImageRequest, by token: String) -> ImageRequest {
    var request = request
    request.networkOptions.headers["Authorization"] = "Bearer \(token)"
    return request
}

struct SignedIn: ImageIntercepting {
    let account: any Account

    func intercept(_ chain: InterceptorChain) async throws(ImageError) -> ImageResponse {
        do {
            return try await chain.proceed(with: signed(chain.request, by: account.token))
        } catch {
            guard error.httpStatus == 401 else { throw error }
            return try await chain.proceed(with: signed(chain.request, by: account.renewedToken()))
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

private func configure(_ configuration: inout ImageManager.Configuration, account: any Account) {
    configuration.interceptors = [Stopwatch(), SignedIn(account: account)]
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

    func interceptsMemoryHits(of request: ImageRequest) -> Bool { request.url.path.hasPrefix("/private/") }
}
