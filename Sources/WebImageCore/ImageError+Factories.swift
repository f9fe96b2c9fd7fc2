package import FoundationEssentials

// The errors of the pipeline. Loaders and coders make theirs where they fail.
extension ImageError {
    package static func cancelled(_ url: URL?) -> ImageError {
        ImageError(
            .cancelled,
            url: url,
            reason: "The load was cancelled",
            remedy: "Load the image again if it is still wanted."
        )
    }

    static func invalidURL(_ url: URL?, _ reason: String) -> ImageError {
        ImageError(
            .invalidURL,
            url: url,
            reason: reason,
            remedy: "Use an http, https, file, data or resource URL, or give the manager a loader for this scheme."
        )
    }

    static func noLoader(for url: URL) -> ImageError {
        invalidURL(url, url.scheme.map { "No loader takes the scheme \($0)" } ?? "The URL has no scheme")
    }

    static func notInCache(_ url: URL) -> ImageError {
        ImageError(
            .notInCache,
            url: url,
            reason: "The image is in none of the caches",
            remedy: "Load it with a cache policy other than cachedOnly."
        )
    }

    static func loadRefused(_ url: URL) -> ImageError {
        ImageError(
            .invalidRequest,
            url: url,
            reason: "The app refused to load this URL",
            remedy: "Let ImageManager.Configuration.shouldLoad return true for it."
        )
    }

    static func offline(_ url: URL) -> ImageError {
        ImageError(
            .offline,
            url: url,
            reason: "This machine is offline",
            remedy: "Connect it to a network, or set RetryPolicy.offlineWait to make loads wait for one."
        )
    }

    static func transformFailed(_ step: String, _ url: URL, _ size: PixelSize) -> ImageError {
        ImageError(
            .transformFailed,
            url: url,
            reason: "The transformer \(step) failed",
            remedy: "Make sure that it handles an image of \(size) pixels. The bytes are in the disk cache."
        )
    }

    package static func encodingFailed(_ reason: String) -> ImageError {
        ImageError(
            .encodingFailed,
            url: nil,
            reason: reason,
            remedy: "Choose another format or a smaller size; JPEG, PNG and WebP can always be written."
        )
    }
}
