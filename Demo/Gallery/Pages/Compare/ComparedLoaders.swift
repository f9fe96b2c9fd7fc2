internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

extension ImageManager {
    /// The User-Agent of the library's side.
    static let comparedAgent = "compare-library"

    /// The library as it is, without a cache on disk: both sides begin with nothing.
    static var compared: ImageManager {
        var configuration = Configuration()
        configuration.diskCache = nil
        configuration.downloader = .named(comparedAgent)
        return ImageManager(configuration: configuration)
    }
}

extension ImageDownloader {
    /// The User-Agent of the other side.
    static let comparedAgent = "compare-plain"

    /// The downloader of the other side: that of the library with its settings, so that the transfers are alike.
    static var compared: ImageDownloader { .named(comparedAgent) }

    fileprivate static func named(_ agent: String) -> ImageDownloader {
        var configuration = Configuration()
        configuration.userAgent = agent
        return ImageDownloader(configuration: configuration)
    }

    /// Fetches the bytes of a URL and passes them on as GBytes, or `nil` for an error.
    func fetch(_ url: URL, _ completion: @escaping @MainActor (OpaquePointer?) -> Void) {
        _ = load(LoaderRequest(url: url)) { event in
            guard case .finished(let result) = event else { return }
            Task { @MainActor in
                let bytes = try? result.get().data.withUnsafeBytes { g_bytes_new($0.baseAddress, gsize($0.count)) }
                completion(bytes)
                if let bytes { g_bytes_unref(bytes) }
            }
        }
    }
}
