import FoundationEssentials

/// The state of a job that decodes partial images. One thread of the decode queue works on it at a time; bytes that
/// arrive meanwhile wait, so that a slow decoder makes fewer partial images instead of a longer queue.
struct ProgressiveDecoding: Sendable {
    enum Decoder: Sendable {
        /// The format is not known yet.
        case none
        case running(BudgetedIncrementalDecoder)
        /// The format has no partial images, or the bytes are damaged. The whole file is decoded in the end.
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
    /// When the last partial image was shown that is no thumbnail.
    var lastPartial: Date?
    /// Whether the thumbnail in the file was shown.
    var hasThumbnail = false
    /// Whether a thread works on it or is about to.
    private var isBusy = false
    /// The whole file, once it is complete.
    private var complete: FetchedData?
    /// Whether a partial image is due.
    private var isShowDue = false
    /// Whether a timer runs that makes one due.
    private var hasTimer = false
    /// Whether the attempt that brought the bytes has failed.
    private var isAbandoned = false

    init(pending: [Data]) {
        self.pending = pending
    }

    /// Takes the pending bytes. When there are none, or too few to recognise the format, the thread is released.
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

    /// Whether the bytes suffice to recognise any format, or are those of one that is recognised from fewer.
    private var isFormatKnown: Bool {
        let head = Data(pending.joined().prefix(ImageFormat.sniffLength))
        return head.count >= ImageFormat.sniffLength
            || ImageFormat(sniffing: head).descriptor?.isDecodableInParts == true
    }

    // Each of these returns whether a thread has to be woken.

    mutating func append(_ chunk: Data) -> Bool {
        if case .unavailable = decoder { return false }
        pending.append(chunk)
        return claimThread()
    }

    /// How long the next partial image has to wait; `nil` when it is due.
    func pause(at now: Date, interval: Duration) -> Duration? {
        guard let lastPartial else { return nil }
        let (elapsed, interval) = (now.timeIntervalSince(lastPartial), interval.bounded / .seconds(1))
        // A clock that is set back must not keep partial images from coming.
        return (0..<interval).contains(elapsed) ? .bounded(seconds: interval - elapsed) : nil
    }

    /// Whether a timer has to be started, which calls ``showNow()``. One is enough for all bytes that come meanwhile.
    mutating func startTimer() -> Bool {
        defer { hasTimer = true }
        return !hasTimer
    }

    /// Makes a partial image due: the shortest time between two has passed.
    mutating func showNow() -> Bool {
        hasTimer = false
        guard case .running = decoder else { return false }
        isShowDue = true
        return claimThread()
    }

    /// Leaves the complete file to the thread, or to the caller when there is no thread.
    mutating func end(with data: FetchedData) -> Bool {
        complete = data
        return claimThread()
    }

    private mutating func claimThread() -> Bool {
        defer { isBusy = true }
        return !isBusy
    }

    /// Keeps the decoder that a thread made or fed.
    /// - Returns: The one before, which is released with no lock held.
    mutating func setDecoder(_ decoder: Decoder) -> Decoder {
        isAbandoned ? decoder : exchange(&self.decoder, with: decoder)
    }

    /// Ends partial images and drops what was decoded.
    /// - Returns: The decoder, which is released with no lock held.
    mutating func abandon() -> Decoder {
        isAbandoned = true
        pending = []
        return exchange(&decoder, with: .unavailable)
    }
}
