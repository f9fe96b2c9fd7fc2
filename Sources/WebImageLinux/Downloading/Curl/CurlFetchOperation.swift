import FoundationEssentials
import Synchronization
import WebImageCore

/// One caller's request for a transfer, which other callers may share.
final class CurlFetchOperation: FetchOperation {
    private struct State {
        var priority: ImagePriority
        var wantsData: Bool
        var isNearlyComplete = false
        var onEvent: (@Sendable (LoaderEvent) -> Void)?
    }

    let request: LoaderRequest
    private let commands: CurlCommandQueue
    private let state: Mutex<State>

    init(
        _ request: LoaderRequest,
        _ commands: CurlCommandQueue,
        onEvent: @escaping @Sendable (LoaderEvent) -> Void
    ) {
        self.request = request
        self.commands = commands
        state = Mutex(State(priority: request.priority, wantsData: request.wantsData, onEvent: onEvent))
    }

    var priority: ImagePriority { state.withLock { $0.priority } }
    var wantsData: Bool { state.withLock { $0.wantsData } }
    var isCancelled: Bool { state.withLock { $0.onEvent == nil } }
    var isNearlyComplete: Bool { state.withLock { $0.isNearlyComplete } }

    func cancel() {
        // Without its closure the operation gets no more events, even before the network thread learns of the cancellation.
        let closure = state.withLock { $0.onEvent.take() }
        withExtendedLifetime(closure) {
            if closure != nil { commands.post(.cancel(self)) }
        }
    }

    func setPriority(_ priority: ImagePriority) {
        state.withLock { $0.priority = priority }
        commands.post(.updatePriority(self))
    }

    func startStreaming() {
        commands.post(.startStreaming(self))
    }

    /// The error if the app refuses to load a URL that the request leads to.
    func refusal(of target: URL) -> ImageError? {
        guard request.shouldLoad?(target) == false else { return nil }
        return ImageError(
            .invalidRequest,
            url: request.url,
            reason: "The app refused to load \(target.textForMessages), where this URL leads",
            remedy: "Let ImageManager.Configuration.shouldLoad return true for it."
        )
    }
}

// Called on the network thread, on the thread that decrypts, or on the caller's thread if no network thread starts.
extension CurlFetchOperation {
    func send(_ event: LoaderEvent) {
        let closure = state.withLock { state in
            if case .finished = event { return state.onEvent.take() }
            return state.onEvent
        }
        closure?(event)
    }

    func setWantsData() {
        state.withLock { $0.wantsData = true }
    }

    func setNearlyComplete(_ isNearlyComplete: Bool) {
        state.withLock { $0.isNearlyComplete = isNearlyComplete }
    }
}
