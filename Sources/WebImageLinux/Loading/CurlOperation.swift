import Synchronization
import WebImageCore

/// One caller's share in a transfer.
final class CurlOperation: LoadOperation {
    private struct State {
        var priority: ImagePriority
        var wantsData: Bool
        var onEvent: (@Sendable (LoadEvent) -> Void)?
    }

    let request: LoadRequest
    private let inbox: CurlInbox
    private let state: Mutex<State>

    init(_ request: LoadRequest, _ inbox: CurlInbox, _ onEvent: @escaping @Sendable (LoadEvent) -> Void) {
        self.request = request
        self.inbox = inbox
        state = Mutex(State(priority: request.priority, wantsData: request.wantsData, onEvent: onEvent))
    }

    var priority: ImagePriority { state.withLock { $0.priority } }
    var wantsData: Bool { state.withLock { $0.wantsData } }
    var isCancelled: Bool { state.withLock { $0.onEvent == nil } }

    func cancel() {
        // Without its closure it hears nothing more, although the network thread learns of the cancel later.
        let closure = state.withLock { $0.onEvent.take() }
        if closure != nil { inbox.post(.cancel(self)) }
    }

    func setPriority(_ priority: ImagePriority) {
        state.withLock { $0.priority = priority }
        inbox.post(.prioritize(self))
    }

    func deliverData() {
        inbox.post(.deliverData(self))
    }

    /// On the network thread.
    func send(_ event: LoadEvent) {
        let closure = state.withLock { state in
            if case .finished = event { return state.onEvent.take() }
            return state.onEvent
        }
        closure?(event)
    }

    /// On the network thread.
    func startDeliveringData() {
        state.withLock { $0.wantsData = true }
    }
}

/// What other threads ask of the network thread.
enum CurlCommand: Sendable {
    case start(CurlOperation)
    case cancel(CurlOperation)
    case prioritize(CurlOperation)
    case deliverData(CurlOperation)
    case stop
}

/// The commands that wait for the network thread, and the means to wake it.
final class CurlInbox: Sendable {
    private struct State {
        var commands: [CurlCommand] = []
        var wake: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    func post(_ command: CurlCommand) {
        // Woken under the lock, so that the multi handle cannot go away meanwhile.
        state.withLock { state in
            state.commands.append(command)
            if state.commands.count == 1 { state.wake?() }
        }
    }

    func take() -> [CurlCommand] {
        state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }

    func setWake(_ wake: (@Sendable () -> Void)?) {
        state.withLock { $0.wake = wake }
    }
}
