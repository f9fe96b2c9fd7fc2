import FoundationEssentials

/// The state of a job that decodes partial images. One thread of the decode queue works on it at a time. Bytes that
/// arrive during a decode wait, so that a slow decoder makes fewer partial images instead of a longer queue.
struct ProgressiveDecoding: Sendable {
    enum Decoder: Sendable {
        /// The format is not known yet.
        case none
        case running(BudgetedIncrementalDecoder)
        /// The format has no partial images, or the bytes are damaged. The whole file is decoded later.
        case unavailable
    }

    /// What the thread does next.
    enum Step: Sendable {
        case feed([Data], Decoder)
        case show(BudgetedIncrementalDecoder)
        case finish(FetchedData)
        case rest
    }

    private(set) var decoder = Decoder.none
    /// The bytes that the decoder has not seen.
    private(set) var pending: [Data]
    /// When the last partial image was shown, not counting the thumbnail.
    var lastPartial: Date?
    /// Whether the thumbnail in the file was shown.
    var hasThumbnail = false
    /// Whether a thread decodes for the job or is about to.
    private var isBusy = false
    /// The whole file, once it is complete.
    private var complete: FetchedData?
    /// Whether a partial image is due.
    private var isShowDue = false
    /// Whether a timer is running that will make a partial image due.
    private var hasTimer = false
    /// Whether the attempt that brought the bytes has failed.
    private var isAbandoned = false

    init(pending: [Data]) {
        self.pending = pending
    }

    /// Takes the pending bytes. If there are none, or too few to recognize the format, the thread is released.
    mutating func nextStep() -> Step {
        if let complete { return .finish(complete) }
        if case .none = decoder, !isFormatKnown {
            isBusy = false
            return .rest
        }
        defer { isShowDue = false }
        guard !pending.isEmpty else {
            if isShowDue, case .running(let decoder) = decoder { return .show(decoder) }
            isBusy = false
            return .rest
        }
        defer { pending = [] }
        return .feed(pending, decoder)
    }

    /// Whether there are enough bytes to recognize any format, or they are recognized already as a format that decodes in parts.
    private var isFormatKnown: Bool {
        let head = Data(pending.joined().prefix(ImageFormat.sniffLength))
        return head.count >= ImageFormat.sniffLength
            || ImageFormat(sniffing: head).descriptor?.isDecodableInParts == true
    }

    /// The image of the whole file, starting from what is decoded already.
    /// - Returns: `nil` if the file must be decoded from its beginning, which gives either the image or the error to report.
    func finished(_ file: Data) -> WebImage? {
        guard case .running(let decoder) = decoder else { return nil }
        do {
            for chunk in pending { try decoder.append(chunk) }
            return try decoder.finish(file)
        } catch {
            WebImageLog.debug("Incremental decoding failed: \(error)")
            return nil
        }
    }

    // Each of these functions returns whether a thread must be woken.

    mutating func append(_ chunk: Data) -> Bool {
        if case .unavailable = decoder { return false }
        pending.append(chunk)
        return claimThread()
    }

    /// How long the next partial image must wait; `nil` if it is due.
    func pause(at now: Date, interval: Duration) -> Duration? {
        guard let lastPartial else { return nil }
        let (elapsed, interval) = (now.timeIntervalSince(lastPartial), interval.bounded / .seconds(1))
        // A clock that is set back must not suppress partial images.
        return (0..<interval).contains(elapsed) ? .bounded(seconds: interval - elapsed) : nil
    }

    /// Whether a timer must be started, which calls ``showNow()``. One timer is enough for all bytes that arrive before it fires.
    mutating func startTimer() -> Bool {
        defer { hasTimer = true }
        return !hasTimer
    }

    /// Makes a partial image due, because the minimum interval has passed.
    mutating func showNow() -> Bool {
        hasTimer = false
        guard case .running = decoder else { return false }
        isShowDue = true
        return claimThread()
    }

    /// Leaves the complete file to the running thread, or to the caller if no thread is running.
    mutating func end(with data: FetchedData) -> Bool {
        complete = data
        return claimThread()
    }

    private mutating func claimThread() -> Bool {
        defer { isBusy = true }
        return !isBusy
    }

    /// Keeps the decoder that a thread created or fed.
    /// - Returns: The previous decoder, which the caller releases while no lock is held.
    mutating func setDecoder(_ decoder: Decoder) -> Decoder {
        isAbandoned ? decoder : exchange(&self.decoder, with: decoder)
    }

    /// Ends partial images and drops what was decoded.
    /// - Returns: The decoder, which the caller releases while no lock is held.
    mutating func abandon() -> Decoder {
        isAbandoned = true
        pending = []
        return exchange(&decoder, with: .unavailable)
    }
}
