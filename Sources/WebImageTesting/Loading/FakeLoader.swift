public import FoundationEssentials
import Synchronization
public import WebImageCore

/// A loader that does what a test says: it answers at once with what it was given, or holds every load until the test
/// sends bytes and ends it. Counts starts and cancels.
public final class FakeLoader: ImageLoading {
    private struct State {
        var answers: [URL: Result<LoadedData, ImageError>] = [:]
        var requests: [LoadRequest] = []
        var cancelled: [URL] = []
        var running: [FakeLoad] = []
        var isHolding: Bool
        var isWorthFinishing = false
    }

    private let state: Mutex<State>

    /// Makes a loader.
    /// - Parameter isHolding: Whether loads wait for ``finish(_:)`` instead of being answered at once. Default: no.
    public init(isHolding: Bool = false) {
        state = Mutex(State(isHolding: isHolding))
    }

    /// The URLs of all loads so far, in order.
    public var started: [URL] { requests.map(\.url) }
    /// What was asked for so far, in order.
    public var requests: [LoadRequest] { state.withLock { $0.requests } }
    /// The URLs of the loads that were cancelled, in order.
    public var cancelled: [URL] { state.withLock { $0.cancelled } }
    /// The loads that have neither ended nor been cancelled.
    public var runningCount: Int { state.withLock { $0.running.count } }

    /// The priority of the load of `url` that is under way.
    public func priority(of url: URL) -> ImagePriority? {
        state.withLock { state in state.running.last { $0.url == url } }?.priority
    }

    /// Says what `url` is answered with. Other URLs are answered with `ImageError.Code.badStatus` 404.
    public func answer(_ url: URL, with result: Result<LoadedData, ImageError>) {
        state.withLock { $0.answers[url] = result }
    }

    /// Says that `url` is answered with `data`.
    public func answer(_ url: URL, with data: Data) {
        answer(url, with: .success(LoadedData(data: data)))
    }

    /// Sends bytes of a load that is held.
    public func send(_ data: Data, for url: URL, received: Int64? = nil, expected: Int64? = nil) {
        for load in running(url) {
            load.send(.progress(received: received ?? Int64(data.count), expected: expected))
            if load.wantsData { load.send(.data(data)) }
        }
    }

    /// Ends the loads of `url` that are held, with what it is answered with.
    public func finish(_ url: URL) {
        let result = answer(for: url)
        for load in running(url) {
            remove(load)
            load.send(.finished(result))
        }
    }

    /// Whether loads say that they are nearly through. Default: no.
    public var isWorthFinishing: Bool {
        get { state.withLock { $0.isWorthFinishing } }
        set { state.withLock { $0.isWorthFinishing = newValue } }
    }

    /// Whether the host is one of the internet: any but `127.0.0.1`.
    public func needsNetwork(_ url: URL) -> Bool { url.host() != "127.0.0.1" }

    /// Whether it is any URL: yes.
    public func canLoad(_ url: URL) -> Bool { true }

    /// Starts a load, and ends it within this call unless the loader holds.
    public func load(
        _ request: LoadRequest,
        onEvent: @escaping @Sendable (LoadEvent) -> Void
    ) -> any LoadOperation {
        let load = FakeLoad(request, onEvent) { [weak self] load in
            self?.remove(load)
            self?.state.withLock { $0.cancelled.append(load.url) }
        } isWorthFinishing: { [weak self] in
            self?.isWorthFinishing ?? false
        }
        let isHolding = state.withLock { state in
            state.requests.append(request)
            if state.isHolding { state.running.append(load) }
            return state.isHolding
        }
        if !isHolding { load.send(.finished(answer(for: request.url))) }
        return load
    }

    private func running(_ url: URL) -> [FakeLoad] {
        state.withLock { state in state.running.filter { $0.url == url } }
    }

    private func remove(_ load: FakeLoad) {
        state.withLock { state in state.running.removeAll { $0 === load } }
    }

    private func answer(for url: URL) -> Result<LoadedData, ImageError> {
        state.withLock { $0.answers[url] }
            ?? .failure(
                ImageError(
                    .badStatus,
                    url: url,
                    reason: "The fake loader was given no answer for this URL",
                    remedy: "Call answer(_:with:) first.",
                    httpStatus: 404
                )
            )
    }
}

private final class FakeLoad: LoadOperation {
    private struct State {
        var priority: ImagePriority
        var wantsData: Bool
        var isCancelled = false
    }

    let url: URL
    private let onEvent: @Sendable (LoadEvent) -> Void
    private let onCancel: @Sendable (FakeLoad) -> Void
    private let worth: @Sendable () -> Bool
    private let state: Mutex<State>

    init(
        _ request: LoadRequest,
        _ onEvent: @escaping @Sendable (LoadEvent) -> Void,
        onCancel: @escaping @Sendable (FakeLoad) -> Void,
        isWorthFinishing: @escaping @Sendable () -> Bool
    ) {
        worth = isWorthFinishing
        url = request.url
        self.onEvent = onEvent
        self.onCancel = onCancel
        state = Mutex(State(priority: request.priority, wantsData: request.wantsData))
    }

    var priority: ImagePriority { state.withLock { $0.priority } }
    var wantsData: Bool { state.withLock { $0.wantsData } }
    var isWorthFinishing: Bool { worth() }

    func send(_ event: LoadEvent) {
        if !state.withLock({ $0.isCancelled }) { onEvent(event) }
    }

    func cancel() {
        let isFirst = state.withLock { state in
            defer { state.isCancelled = true }
            return !state.isCancelled
        }
        if isFirst { onCancel(self) }
    }

    func setPriority(_ priority: ImagePriority) {
        state.withLock { $0.priority = priority }
    }

    func deliverData() {
        state.withLock { $0.wantsData = true }
    }
}
