public import FoundationEssentials
import Synchronization

extension LoadTask {
    /// Adds a completion. It is called within this call if the task has finished, else by the task's dispatcher after
    /// the earlier completions.
    @_specialize(where Content == WebImage)
    package func addCompletion(_ completion: @escaping @Sendable (Ending) -> Void) {
        let result = state.withLock { state -> LoadEnding? in
            if case .finished(let result) = state.phase { return result }
            state.completions.append { completion($0.result()) }
            return nil
        }
        if let result { completion(result.result()) }
    }

    /// The response, once the load has ended. Cancelling the awaiting Swift task cancels the load for all callers that
    /// await it.
    /// - Throws: ``ImageError``. Its code is ``ImageError/Code/cancelled`` if the load was cancelled.
    public var response: LoadResponse<Content> {
        get async throws(ImageError) {
            let result = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    addCompletion { continuation.resume(returning: $0) }
                }
            } onCancel: {
                cancel()
            }
            return try result.get()
        }
    }
}

extension LoadTask where Content == WebImage {
    /// The image of the ``response``, once the load has ended.
    /// - Throws: ``ImageError``. Its code is ``ImageError/Code/cancelled`` if the load was cancelled.
    public var image: WebImage {
        get async throws(ImageError) { try await response.image }
    }
}

extension LoadTask where Content == Data {
    /// The bytes of the ``response``, once the load has ended.
    /// - Throws: ``ImageError``. Its code is ``ImageError/Code/cancelled`` if the load was cancelled.
    public var data: Data {
        get async throws(ImageError) { try await response.data }
    }
}
