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

    func decrypt(
        _ loaded: LoaderResult,
        _ head: ResponseModifier.Response,
        with decryptor: Decryptor
    ) -> Result<LoaderResult, ImageError> {
        var loaded = loaded
        guard let data = decryptor.decrypt(loaded.data, head) else {
            let reason = "The decryptor \(decryptor.key) cannot decrypt the body"
            let remedy = "Check that its key is the one with which the server encrypts."
            return .failure(ImageError(.badImageData, url: url, reason: reason, remedy: remedy))
        }
        loaded.data = data
        return .success(loaded)
    }
}
