package import FoundationEssentials
package import GtkWebImage

/// The facts about one load: a line of the waterfall. It keeps no pixels.
package struct LoadLine: Sendable, Identifiable {
    /// The progress of the load.
    enum State: Sendable {
        case running
        case delivered(LoadSource)
        case failed(ImageError)
        case cancelled
    }

    /// A failure after which the loader, or the whole load, was started again.
    package struct Retry: Sendable {
        let error: ImageError
        let delay: Duration
    }

    /// The number of the load, counting from the first observed load.
    package let id: Int
    /// The requested URL.
    package let url: URL
    /// When the load was requested, for the last time if earlier loads have failed.
    package private(set) var start: ContinuousClock.Instant
    /// The finished stages, in order of their ends.
    package private(set) var spans: [StageSpan] = []
    private(set) var state = State.running
    package private(set) var end: ContinuousClock.Instant?
    /// The image in memory.
    package private(set) var pixelSize: PixelSize?
    private(set) var pixelByteCount = 0
    /// The image in its file.
    package private(set) var naturalSize: PixelSize?
    private(set) var format: ImageFormat?
    /// The response of the server, and its transfer.
    private(set) var head: ResponseHead?
    package private(set) var metrics: TransferMetrics?
    /// The last failures that were retried, and the number of all.
    package private(set) var retries: [Retry] = []
    private(set) var retryCount = 0
    /// The number of partial images.
    private(set) var partialCount = 0
    /// The number of changes, which views compare.
    private(set) var revision = 0

    /// A load that is retried for hours would collect too many.
    private static let spanLimit = 64
    private static let retryLimit = 8

    private var requestTime: ContinuousClock.Instant?
    private var firstByteTime: ContinuousClock.Instant?
    private var readyTime: ContinuousClock.Instant?

    init(id: Int, url: URL, start: ContinuousClock.Instant) {
        (self.id, self.url, self.start) = (id, url, start)
    }

    /// Whether the load has not ended.
    package var isRunning: Bool {
        if case .running = state { true } else { false }
    }

    /// The total time of a stage, in all attempts.
    package func duration(of stage: LoadStage) -> Duration {
        spans.reduce(.zero) { $1.stage == stage ? $0 + $1.duration : $0 }
    }

    /// The time without any stage: the load waited for a thread or for other loads.
    var queuedDuration: Duration? {
        duration.map { max($0 - spans.reduce(.zero) { $0 + $1.duration }, .zero) }
    }

    /// The bytes of the transfer; 0 without one.
    var receivedByteCount: Int64 { metrics?.receivedByteCount ?? 0 }

    /// The time from the request to the end.
    package var duration: Duration? { end.map { $0 - start } }

    /// Adds a step of the load.
    mutating func add(_ event: LoadTraceEvent) {
        revision += 1
        let time = event.time
        switch event.kind {
        case .requested, .stored:
            break
        case .memoryHit, .memoryMiss:
            // A load queries the cache again if the image may have been stored in the meantime.
            if duration(of: .memory) == .zero { add(.memory, from: start, to: time) }
        case .renditionHit(let duration), .diskHit(let duration), .diskMiss(let duration):
            add(.disk, lasting: duration, to: time)
        case .fetchStarted:
            (requestTime, firstByteTime) = (time, nil)
        case .firstBytes:
            firstByteTime = time
            if let requestTime { add(.waiting, from: requestTime, to: time) }
        case .fetched(let metrics):
            self.metrics = metrics
            endTransfer(at: time)
        case .retrying(let error, let delay):
            add(Retry(error: error, delay: delay))
            endTransfer(at: time)
        case .partial:
            partialCount += 1
        case .decoded(let duration):
            add(.decode, lasting: duration, to: time)
        case .transformed(let duration):
            add(.transform, lasting: duration, to: time)
        case .awaitingDelivery:
            readyTime = time
        case .delivered(let source):
            if let response = event.response { add(response) }
            finish(.delivered(source), at: time)
        case .failed(let error):
            head = error.head
            finish(.failed(error), at: time)
        case .cancelled:
            finish(.cancelled, at: time)
        }
    }

    /// The line of the next load of the URL; `nil` if this load has not failed.
    func next(at time: ContinuousClock.Instant) -> LoadLine? {
        guard case .failed(let error) = state, let end else { return nil }
        var next = LoadLine(id: id, url: url, start: time)
        (next.retries, next.retryCount, next.revision) = (retries, retryCount, revision + 1)
        next.add(Retry(error: error, delay: time - end))
        return next
    }

    private mutating func add(_ retry: Retry) {
        retryCount += 1
        retries = retries.suffix(Self.retryLimit - 1) + [retry]
    }

    private mutating func add(_ response: ImageResponse) {
        pixelSize = response.image.pixelSize
        naturalSize = response.image.naturalSize
        format = response.image.format
        pixelByteCount = response.image.byteCount
        head = response.head
        if let metrics = response.metrics { self.metrics = metrics }
        // Decodes shared with another load, and renditions, are not reported as steps.
        if case .disk = response.source, duration(of: .decode) == .zero, response.durations.decoding > .zero {
            add(.decode, lasting: response.durations.decoding, to: readyTime ?? .now)
        }
    }

    private mutating func endTransfer(at time: ContinuousClock.Instant) {
        if let firstByteTime {
            add(.transfer, from: firstByteTime, to: time)
        } else if let requestTime {
            add(.waiting, from: requestTime, to: time)
        }
        (requestTime, firstByteTime) = (nil, nil)
    }

    private mutating func finish(_ state: State, at time: ContinuousClock.Instant) {
        endTransfer(at: time)
        if case .delivered = state, let readyTime { add(.shown, from: readyTime, to: time) }
        self.state = state
        end = time
    }

    private mutating func add(_ stage: LoadStage, lasting duration: Duration, to end: ContinuousClock.Instant) {
        add(stage, from: end - duration, to: end)
    }

    /// Clips a stage to the load, since shared work may have begun before it.
    private mutating func add(_ stage: LoadStage, from: ContinuousClock.Instant, to: ContinuousClock.Instant) {
        guard spans.count < Self.spanLimit else { return }
        spans.append(StageSpan(stage: stage, start: min(max(from, start), to), end: to))
    }
}
