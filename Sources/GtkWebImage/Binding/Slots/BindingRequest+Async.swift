import Synchronization
import WebImageCore

/// Turns a load with a completion into one that is awaited; cancelling the task cancels the load.
@MainActor
func awaitLoad(
    _ start: (@escaping ImageLoad.Completion) -> ImageLoad
) async throws(ImageError) -> ImageResponse {
    let handle = AwaitedLoad()
    let result = await withTaskCancellationHandler {
        await withCheckedContinuation { (continuation: CheckedContinuation<Result<ImageResponse, ImageError>, Never>) in
            handle.set(start { continuation.resume(returning: $0) })
        }
    } onCancel: {
        handle.cancel()
    }
    return try result.get()
}

/// The load that is awaited. A cancel may come before there is one.
private final class AwaitedLoad: Sendable {
    private let state = Mutex<(load: ImageLoad?, isCancelled: Bool)>((nil, false))

    func set(_ load: ImageLoad) {
        let isCancelled = state.withLock { state in
            state.load = load
            return state.isCancelled
        }
        if isCancelled { load.cancel() }
    }

    func cancel() {
        let load = state.withLock { state in
            state.isCancelled = true
            return state.load
        }
        load?.cancel()
    }
}
