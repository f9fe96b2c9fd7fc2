import FoundationEssentials
import WebImageCore

/// The recipients of the result of a transfer.
struct Delivery: Sendable {
    let url: URL
    let operations: [CurlFetchOperation]
    /// The observers of all transfers; `nil` when they do not know of this one.
    let observers: Observers<ImageDownloader.Event>?

    func deliver(_ result: Result<LoaderResult, ImageError>) {
        switch result {
        case .success(let loaded):
            observers?.notify(.stopped(url, nil))
            observers?.notify(.finished(url, loaded.metrics ?? TransferMetrics()))
        case .failure(let error):
            observers?.notify(.stopped(url, error))
        }
        for operation in operations { operation.send(.finished(result)) }
    }
}
