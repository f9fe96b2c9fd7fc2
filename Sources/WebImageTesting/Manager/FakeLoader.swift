public import Foundation
import Synchronization
public import WebImageCore

/// A loader that a test controls. It answers at once with prepared results, or holds every load until the test sends bytes and
/// finishes it. It records requests and cancellations.
public final class FakeLoader: DataLoading {
    private struct State {
        var answers: [URL: Result<LoaderResult, ImageError>] = [:]
        var requests: [LoaderRequest] = []
        var cancelled: [URL] = []
        var running: [FakeLoad] = []
        var holdsResponses: Bool
        var isNearlyComplete = false
    }

    private let state: Mutex<State>

    /// Creates a loader.
    /// - Parameter holdsResponses: Whether loads wait for `finish(_:)` instead of being answered at once. Default: false.
    public init(holdsResponses: Bool = false) {
        state = Mutex(State(holdsResponses: holdsResponses))
    }

    /// The URLs of all loads so far, in order.
    public var started: [URL] { requests.map(\.url) }
    /// All requests so far, in order.
    public var requests: [LoaderRequest] { state.withLock { $0.requests } }
    /// The URLs of the cancelled loads, in order.
    public var cancelled: [URL] { state.withLock { $0.cancelled } }
    /// The number of loads that are neither finished nor cancelled.
    public var runningCount: Int { state.withLock { $0.running.count } }

    /// The priority of the running load of a URL.
    public func priority(of url: URL) -> ImagePriority? {
        state.withLock { state in state.running.last { $0.url == url } }?.priority
    }

    /// Sets the result for a URL. Loads of other URLs fail with status 404 (`ImageError.Code.badStatus`).
    public func answer(_ url: URL, with result: Result<LoaderResult, ImageError>) {
        state.withLock { $0.answers[url] = result }
    }

    /// Sets the bytes that loads of a URL deliver.
    public func answer(_ url: URL, with data: Data) {
        answer(url, with: .success(LoaderResult(data: data)))
    }

    /// Delivers bytes to the held loads of a URL.
    /// - Parameters:
    ///   - data: The next bytes of the file, for progressive loads. Other loads get only the report, and all bytes if they become
    ///     progressive.
    ///   - url: The URL of the loads.
    ///   - received: The byte count for the progress report. Default: the count of `data`.
    ///   - expected: The total byte count for the progress report. Default: unknown.
    public func send(_ data: Data, for url: URL, received: Int64? = nil, expected: Int64? = nil) {
        for load in running(url) {
            load.send(.progress(received: received ?? Int64(data.count), expected: expected))
            load.receive(data)
        }
    }

    /// Finishes the held loads of a URL with the result set for it.
    public func finish(_ url: URL) {
        let result = answer(for: url)
        for load in running(url) {
            remove(load)
            load.send(.finished(result))
        }
    }

    /// Whether loads report that they are nearly complete. Default: false.
    package var isNearlyComplete: Bool {
        get { state.withLock { $0.isNearlyComplete } }
        set { state.withLock { $0.isNearlyComplete = newValue } }
    }

    /// Whether the host is not 127.0.0.1.
    public func requiresNetwork(_ url: URL) -> Bool { url.host() != "127.0.0.1" }

    /// Returns true: a URL without an answer fails with status 404.
    public func canLoad(_ url: URL) -> Bool { true }

    /// Starts a load. It finishes within this call, unless the loader holds responses.
    public func load(
        _ request: LoaderRequest,
        onEvent: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any FetchOperation {
        let load = FakeLoad(request, onEvent) { [weak self] load in
            self?.remove(load)
            self?.state.withLock { $0.cancelled.append(load.url) }
        } isNearlyComplete: { [weak self] in
            self?.isNearlyComplete ?? false
        }
        let holdsResponses = state.withLock { state in
            state.requests.append(request)
            if state.holdsResponses { state.running.append(load) }
            return state.holdsResponses
        }
        if !holdsResponses { load.send(.finished(answer(for: request.url))) }
        return load
    }

    private func running(_ url: URL) -> [FakeLoad] {
        state.withLock { state in state.running.filter { $0.url == url } }
    }

    private func remove(_ load: FakeLoad) {
        state.withLock { state in state.running.removeAll { $0 === load } }
    }

    private func answer(for url: URL) -> Result<LoaderResult, ImageError> {
        state.withLock { $0.answers[url] }
            ?? .failure(
                ImageError(
                    .badStatus,
                    url: url,
                    reason: "The fake loader has no answer for this URL",
                    remedy: "Call answer(_:with:) before the load.",
                    head: ResponseHead(url: url, status: 404)
                )
            )
    }
}

/// One load of a FakeLoader.
private final class FakeLoad: FetchOperation {
    private struct State {
        var priority: ImagePriority
        var wantsData: Bool
        /// The bytes that have not been delivered.
        var held = Data()
        var isCancelled = false
    }

    let url: URL
    private let onEvent: @Sendable (LoaderEvent) -> Void
    private let onCancel: @Sendable (FakeLoad) -> Void
    private let nearlyComplete: @Sendable () -> Bool
    private let state: Mutex<State>
    /// Held while bytes are delivered, to keep their order. Recursive, because the receiver may call this load.
    private let delivery = NSRecursiveLock()

    init(
        _ request: LoaderRequest,
        _ onEvent: @escaping @Sendable (LoaderEvent) -> Void,
        onCancel: @escaping @Sendable (FakeLoad) -> Void,
        isNearlyComplete: @escaping @Sendable () -> Bool
    ) {
        nearlyComplete = isNearlyComplete
        url = request.url
        self.onEvent = onEvent
        self.onCancel = onCancel
        state = Mutex(State(priority: request.priority, wantsData: request.wantsData))
    }

    var priority: ImagePriority { state.withLock { $0.priority } }
    var isNearlyComplete: Bool { nearlyComplete() }

    func send(_ event: LoaderEvent) {
        if !state.withLock({ $0.isCancelled }) { onEvent(event) }
    }

    func receive(_ data: Data) {
        delivery.withLock {
            let delivered = state.withLock { state in
                state.held += data
                return state.wantsData ? exchange(&state.held, with: Data()) : nil
            }
            if let delivered { send(.data(delivered)) }
        }
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

    func startStreaming() {
        delivery.withLock {
            let delivered = state.withLock { state in
                state.wantsData = true
                return exchange(&state.held, with: Data())
            }
            if !delivered.isEmpty { send(.data(delivered)) }
        }
    }
}
