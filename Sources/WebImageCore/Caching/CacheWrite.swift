import Synchronization

/// The writing of an image to the disk, as ``ImageCache`` starts it. It goes on whether anyone waits for it or not.
public final class CacheWrite: Sendable {
    private struct State {
        var result: Result<Void, ImageError>?
        var waiting: [UInt64: CheckedContinuation<Result<Void, ImageError>, Never>] = [:]
        var serial = Serial()
    }

    private let state = Mutex(State())

    init() {}

    /// Returns once the image, or one that was stored for the same request since, is in its file.
    ///
    /// From then on it outlives the process, and every process that shares the directory finds it. The file is not flushed to the
    /// medium (fsync): when the power fails, the entry may be a miss. Cancelling the awaiting Swift task ends the waiting
    /// and not the writing.
    /// - Throws: ``ImageError/Code/notStored`` with the cause, ``ImageError/Code/encodingFailed`` when the image could not be
    ///   written as a file of its format, and ``ImageError/Code/cancelled`` when the awaiting task was cancelled.
    public func waitUntilWritten() async throws(ImageError) {
        let number = state.withLock { $0.serial.next() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let result = state.withLock { state -> Result<Void, ImageError>? in
                    if let result = state.result { return result }
                    // Whoever cancels the task from here on finds the continuation.
                    if Task.isCancelled { return .failure(.cancelled(nil)) }
                    state.waiting[number] = continuation
                    return nil
                }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            let continuation = state.withLock { $0.waiting.removeValue(forKey: number) }
            continuation?.resume(returning: .failure(.cancelled(nil)))
        }
        try result.get()
    }

    /// Ends the writing. Only the first call counts.
    func finish(_ result: Result<Void, ImageError>) {
        let waiting = state.withLock { state in
            guard state.result == nil else { return [CheckedContinuation<Result<Void, ImageError>, Never>]() }
            state.result = result
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume(returning: result) }
    }
}
