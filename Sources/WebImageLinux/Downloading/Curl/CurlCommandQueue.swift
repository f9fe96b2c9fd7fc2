import Synchronization
import WebImageCore

/// A command for the network thread.
enum CurlCommand: Sendable {
    case start(CurlFetchOperation)
    case cancel(CurlFetchOperation)
    case updatePriority(CurlFetchOperation)
    case startStreaming(CurlFetchOperation)
    case useProxy(TransferNumber, ProxyChoice)
    case useAnswer(TransferNumber, AppQuestion.Answer)
    /// Bodies have been decoded, so there is room for others.
    case useRoom
    case cancelAll
    /// Memory is short: resumable bodies keep only a share of their limit.
    case trimParts(toShare: Double)
    case noteNetworkChange
    /// The configuration has changed, or the downloader was suspended or resumed.
    case configure
    case stop
}

/// The state that a downloader shares with its network thread: the pending commands, and the closures that start and
/// wake the thread.
final class CurlCommandQueue: Sendable {
    private struct State {
        var commands: [CurlCommand] = []
        var wake: (@Sendable () -> Void)?
        var isStarted = false
        var idleThread: IdleThread?
        var configuration: ImageDownloader.Configuration
        var isSuspended = false
        var counts = (running: 0, waiting: 0)
    }

    /// A network thread that has ended for lack of work.
    ///
    /// @unchecked: only the next thread uses it, and the lock is between the two.
    private struct IdleThread: @unchecked Sendable {
        let thread: CurlThread
    }

    private let state: Mutex<State>
    let proxyResolver: ProxyResolver
    /// How long the thread waits for work before it ends.
    let idleTime: Duration
    private let startThread: ThreadStarter

    /// Starts a thread that runs a closure. Returns 0 or an error number.
    typealias ThreadStarter = @Sendable (@escaping @Sendable () -> Void) -> Int32

    init(
        _ configuration: ImageDownloader.Configuration,
        _ proxyResolver: ProxyResolver,
        idleTime: Duration,
        startThread: @escaping ThreadStarter
    ) {
        self.proxyResolver = proxyResolver
        self.idleTime = idleTime
        self.startThread = startThread
        state = Mutex(State(configuration: configuration))
    }

    /// Adds a command. The first operation, and the first command after an idle time, start the thread. If none starts, the
    /// operation fails within this call.
    func post(_ command: CurlCommand) {
        // The thread is woken under the lock, so that it cannot free the multi handle in the meantime.
        let startsThread = state.withLock { state in
            if case .start = command {} else if !state.isStarted, state.idleThread == nil { return false }
            state.commands.append(command)
            if state.commands.count == 1 { state.wake?() }
            defer { state.isStarted = true }
            return !state.isStarted
        }
        guard startsThread else { return }
        let code = CurlThread.start(self, startThread)
        if code != 0 {
            failAll(
                "The system starts no thread for downloads (error \(code))",
                remedy: "Raise the limit of processes (ulimit -u, or pids.max of the control group)."
            )
            // Nothing else would close the connections of a downloader that was released.
            if case .stop = command, ExitGuard.tryEnter() {
                _ = takeIdleThread()
                ExitGuard.leave()
            }
        }
    }

    /// Fails the operations of a thread that cannot work. The next operation tries to start a thread again, which makes the
    /// other changes.
    func failAll(_ reason: String, remedy: String) {
        let operations = state.withLock { state in
            state.isStarted = false
            let operations = state.commands.compactMap { if case .start(let operation) = $0 { operation } else { nil } }
            state.commands.removeAll { if case .start = $0 { true } else { false } }
            return operations
        }
        for operation in operations {
            let url = operation.request.url
            let error = ImageError(.connectionFailed, url: url, reason: reason, remedy: remedy)
            operation.send(.finished(.failure(error)))
        }
    }

    /// Removes and returns all commands, oldest first.
    func takeAll() -> [CurlCommand] {
        state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Keeps a thread that ends, unless there are commands for it.
    func keep(_ thread: CurlThread) -> Bool {
        let idle = IdleThread(thread: thread)
        return state.withLock { state in
            guard state.commands.isEmpty else { return false }
            (state.idleThread, state.wake, state.isStarted) = (idle, nil, false)
            return true
        }
    }

    /// Returns the thread that was kept, if one was.
    func takeIdleThread() -> CurlThread? { state.withLock { $0.idleThread.take() }?.thread }

    /// Sets the closure that wakes the thread; `nil` when the thread ends.
    func setWake(_ wake: (@Sendable () -> Void)?) {
        state.withLock { $0.wake = wake }
    }

    var configuration: ImageDownloader.Configuration {
        get { state.withLock { $0.configuration } }
        set {
            state.release { exchange(&$0.configuration, with: newValue) }
            post(.configure)
        }
    }

    var isSuspended: Bool {
        get { state.withLock { $0.isSuspended } }
        set {
            state.withLock { $0.isSuspended = newValue }
            post(.configure)
        }
    }

    var counts: (running: Int, waiting: Int) {
        get { state.withLock { $0.counts } }
        set { state.withLock { $0.counts = newValue } }
    }
}
