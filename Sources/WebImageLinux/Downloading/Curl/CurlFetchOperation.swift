import Synchronization
import WebImageCore

/// One caller's share in a transfer.
final class CurlFetchOperation: FetchOperation {
    private struct State {
        var priority: ImagePriority
        var wantsData: Bool
        var isNearlyComplete = false
        var onEvent: (@Sendable (LoaderEvent) -> Void)?
    }

    let request: LoaderRequest
    private let inbox: CurlCommandQueue
    private let state: Mutex<State>

    init(_ request: LoaderRequest, _ inbox: CurlCommandQueue, _ onEvent: @escaping @Sendable (LoaderEvent) -> Void) {
        self.request = request
        self.inbox = inbox
        state = Mutex(State(priority: request.priority, wantsData: request.wantsData, onEvent: onEvent))
    }

    var priority: ImagePriority { state.withLock { $0.priority } }
    var wantsData: Bool { state.withLock { $0.wantsData } }
    var isCancelled: Bool { state.withLock { $0.onEvent == nil } }
    var isNearlyComplete: Bool { state.withLock { $0.isNearlyComplete } }

    func cancel() {
        // Without its closure it hears nothing more, although the network thread learns of the cancel later.
        let closure = state.withLock { $0.onEvent.take() }
        if closure != nil { inbox.post(.cancel(self)) }
    }

    func setPriority(_ priority: ImagePriority) {
        state.withLock { $0.priority = priority }
        inbox.post(.prioritize(self))
    }

    func startStreaming() {
        inbox.post(.startStreaming(self))
    }
}

// On the network thread, or on the one that decrypts.
extension CurlFetchOperation {
    func send(_ event: LoaderEvent) {
        let closure = state.withLock { state in
            if case .finished = event { return state.onEvent.take() }
            return state.onEvent
        }
        closure?(event)
    }

    func startDeliveringData() {
        state.withLock { $0.wantsData = true }
    }

    func setWorthFinishing(_ isWorth: Bool) {
        state.withLock { $0.isNearlyComplete = isWorth }
    }
}
