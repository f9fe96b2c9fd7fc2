import Synchronization

/// A write to the disk cache that ``ImageCache`` has started. It continues whether or not a task waits for it.
public final class CacheWrite: Sendable {
    private struct State {
        var result: Result<Void, ImageError>?
        var waiting: [UInt64: CheckedContinuation<Result<Void, ImageError>, Never>] = [:]
        var serial = Serial()
    }

    private let state = Mutex(State())

    init() {}

    /// Returns once the image, or a newer one stored for the same request, is in its file.
    ///
    /// The file then outlives the process, and every process that shares the directory finds it. The file is not flushed to the
    /// medium (fsync), so a power failure can turn the entry into a miss. Cancelling the awaiting Swift task ends the waiting but
    /// not the write.
    /// - Throws: ``ImageError/Code/notStored`` with the cause, ``ImageError/Code/encodingFailed`` if the image cannot be encoded in
    ///   its format, and ``ImageError/Code/cancelled`` if the awaiting task was cancelled.
    public func waitUntilWritten() async throws(ImageError) {
        let number = state.withLock { $0.serial.next() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let result = state.withLock { state -> Result<Void, ImageError>? in
                    if let result = state.result { return result }
                    // A later cancellation finds the continuation.
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

    /// Records the result and resumes the waiting tasks. Only the first call counts.
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
