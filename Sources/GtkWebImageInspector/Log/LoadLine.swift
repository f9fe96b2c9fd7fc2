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

    /// A failure after which the loader was called again.
    package struct Retry: Sendable {
        let error: ImageError
        let delay: Duration
    }

    /// The number of the load, counting from the first observed load.
    package let id: Int
    /// The requested URL.
    package let url: URL
    /// When the load was requested.
    package let start: ContinuousClock.Instant
    /// The finished stages, in order of their ends.
    package private(set) var spans: [StageSpan] = []
    /// Whether and how the load has ended.
    private(set) var state = State.running
    /// When the load ended.
    package private(set) var end: ContinuousClock.Instant?
    /// The size of the image in memory.
    package private(set) var pixelSize: PixelSize?
    /// The size of the image in its file.
    package private(set) var naturalSize: PixelSize?
    /// The format of the file.
    private(set) var format: ImageFormat?
    /// The bytes of the pixels.
    private(set) var pixelByteCount = 0
    /// The response of the server.
    private(set) var head: ResponseHead?
    /// The times and sizes of the transfer.
    package private(set) var metrics: TransferMetrics?
    /// The failures that were retried.
    package private(set) var retries: [Retry] = []
    /// The number of partial images.
    private(set) var partialCount = 0
    /// The number of changes, which views compare.
    private(set) var revision = 0

    /// A load that is retried for hours would collect too many.
    private static let spanLimit = 64

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
        guard let end else { return nil }
        let busy = LoadStage.allCases.reduce(.zero) { $0 + duration(of: $1) }
        return max(end - start - busy, .zero)
    }

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
            if retries.count < Self.spanLimit { retries.append(Retry(error: error, delay: delay)) }
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
