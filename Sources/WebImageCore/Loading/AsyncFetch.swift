import FoundationEssentials
import Synchronization

/// A load that an asynchronous function of the app performs, in a Swift task.
final class AsyncFetch: FetchOperation {
    private struct State {
        /// `nil` once the load has ended or was cancelled: no event follows.
        var onEvent: (@Sendable (LoaderEvent) -> Void)?
        var task: Task<Void, Never>?
        var wantsData: Bool
        var isStream = false
        /// The bytes of a stream so far.
        var body = Data()
        /// Counts the bytes in `body`.
        var arriving: MemoryBudget.Reservation?
        /// The events that are to be delivered, one at a time.
        var events: [LoaderEvent] = []
        var isDelivering = false
    }

    private let request: LoaderRequest
    /// The name of the loader, for messages.
    private let loader: String
    private let state: Mutex<State>

    init(_ request: LoaderRequest, loader: String, onEvent: @escaping @Sendable (LoaderEvent) -> Void) {
        self.request = request
        self.loader = loader
        state = Mutex(State(onEvent: onEvent, wantsData: request.wantsData))
    }

    /// Starts the function of the app once there is room for its bytes.
    func start(_ load: @escaping @Sendable () async throws -> LoaderResult) {
        let task = Task.detached(priority: request.priority.taskPriority) { [self] in
            await waitForRoom()
            guard !Task.isCancelled else { return }
            do {
                let loaded = try await load()
                try check(Int64(loaded.data.count))
                end(with: .success(loaded))
            } catch {
                end(with: .failure(self.error(error)))
            }
        }
        let isOpen = state.withLock { state in
            guard state.onEvent != nil else { return false }
            state.task = task
            return true
        }
        if !isOpen { task.cancel() }
    }

    private func waitForRoom() async {
        guard let budget = request.budget else { return }
        while !budget.hasRoomForBody, !Task.isCancelled {
            let wait = CancellableWait()
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    wait.begin(continuation)
                    budget.whenRoomForBody { wait.end() }
                }
            } onCancel: {
                wait.end()
            }
        }
    }

    /// A wait that ends with the first of two calls, even if that call precedes the wait.
    private final class CancellableWait: Sendable {
        private let state = Mutex<(continuation: CheckedContinuation<Void, Never>?, hasEnded: Bool)>((nil, false))

        func begin(_ continuation: CheckedContinuation<Void, Never>) {
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.continuation = continuation }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }

        func end() {
            let continuation = state.withLock { state in
                state.hasEnded = true
                return state.continuation.take()
            }
            continuation?.resume()
        }
    }

    private func end(with result: Result<LoaderResult, ImageError>) {
        if case .success(let loaded) = result, !loaded.isNotModified {
            let count = Int64(loaded.data.count)
            // A stream has already reported its last chunk.
            deliver { $0.isStream ? [] : [.progress(received: count, expected: count)] }
        }
        deliver { _ in [.finished(result)] }
    }

    func cancel() {
        // The old state is released while the lock is free.
        let old = state.withLock { exchange(&$0, with: State(wantsData: false)) }
        withExtendedLifetime(old) { old.task?.cancel() }
    }

    func setPriority(_ priority: ImagePriority) {
        #if compiler(>=6.2)
            state.withLock { $0.task }?.escalatePriority(to: priority.taskPriority)
        #endif
    }

    func startStreaming() {
        deliver { state in
            guard !state.wantsData else { return [] }
            state.wantsData = true
            return state.body.isEmpty ? [] : [.data(state.body)]
        }
    }
}

// Streams.
extension AsyncFetch {
    /// Reads a stream to its end.
    func read(_ stream: LoaderStream) async throws -> LoaderResult {
        let expected = stream.expectedByteCount.flatMap { $0 >= 0 ? $0 : nil }
        if let expected { try check(expected) }
        state.withLock { ($0.isStream, $0.arriving) = (true, request.budget?.arrivingBody()) }
        try await stream.forEach { chunk in
            try Task.checkCancellation()
            guard !chunk.isEmpty else { return }
            try self.take(chunk, expected: expected)
        }
        let body = state.withLock { $0.body }
        if let expected, expected != body.count { throw otherLength(body.count, expected: expected) }
        return LoaderResult(data: body, metadata: stream.metadata, head: stream.head)
    }

    /// Adds a chunk and queues its events in one step, because a load that starts streaming in between would get it twice.
    private func take(_ chunk: Data, expected: Int64?) throws {
        var failure: ImageError?
        deliver { state in
            state.body.append(chunk)
            state.arriving?.byteCount = state.body.count
            let count = Int64(state.body.count)
            failure = tooLarge(count)
            if failure == nil, let expected, count > expected { failure = otherLength(Int(count), expected: expected) }
            guard failure == nil else { return [] }
            let progress = LoaderEvent.progress(received: count, expected: expected)
            return state.wantsData ? [progress, .data(chunk)] : [progress]
        }
        if let failure { throw failure }
    }
}

// Events and errors.
extension AsyncFetch {
    /// Delivers events, after those that another thread is delivering.
    /// - Parameter body: Returns the events; called once, with the state locked.
    private func deliver(_ body: (inout State) -> [LoaderEvent]) {
        let isFirst = state.withLock { state in
            guard state.onEvent != nil else { return false }
            let new = body(&state)
            state.events += new
            guard !state.isDelivering, !state.events.isEmpty else { return false }
            state.isDelivering = true
            return true
        }
        guard isFirst else { return }
        while let next = nextEvent() {
            withExtendedLifetime(next.ended) { next.onEvent(next.event) }
        }
    }

    private func nextEvent() -> (event: LoaderEvent, onEvent: @Sendable (LoaderEvent) -> Void, ended: State?)? {
        state.withLock { state in
            guard let onEvent = state.onEvent, !state.events.isEmpty else {
                state.isDelivering = false
                return nil
            }
            let event = state.events.removeFirst()
            guard case .finished = event else { return (event, onEvent, nil) }
            return (event, onEvent, exchange(&state, with: State(wantsData: false)))
        }
    }

    private func check(_ byteCount: Int64) throws {
        if let failure = tooLarge(byteCount) { throw failure }
    }

    /// The error of a body above the limit; `nil` for others.
    private func tooLarge(_ byteCount: Int64) -> ImageError? {
        guard byteCount > Int64(request.maximumByteCount) else { return nil }
        return ImageError(
            .bodyTooLarge,
            url: request.url,
            reason: "The loader \(loader) brings more than the limit of \(Magnitude.bytes(request.maximumByteCount))",
            remedy: "Raise maximumByteCount in the downloader's configuration if you expect such files."
        )
    }

    private func otherLength(_ count: Int, expected: Int64) -> ImageError {
        ImageError(
            .transferIncomplete,
            url: request.url,
            reason: "The loader \(loader) has brought \(count) bytes, of \(expected)",
            remedy: "Let expectedByteCount of its stream be the number of bytes, or nil."
        )
    }

    private func error(_ failure: any Error) -> ImageError {
        if let failure = failure as? ImageError { return failure }
        return ImageError(
            .unreadable,
            url: request.url,
            reason: "The loader \(loader) failed (\(failure))",
            remedy: "Remove the cause. An ImageError with the code connectionFailed, thrown instead, is retried."
        )
    }
}
