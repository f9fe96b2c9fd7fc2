import FoundationEssentials

/// The state of a job that decodes its image while the bytes arrive. One thread of the decode queue works on it at a
/// time; bytes that come meanwhile wait, so a slow decoder makes fewer partial images instead of a longer queue.
struct ProgressiveDecoding: Sendable {
    enum Decoder {
        /// The format is not known yet.
        case none
        case running(any IncrementalImageDecoding)
        /// The format has no partial images, or the bytes are bad; the whole file is decoded in the end.
        case unavailable
    }

    var decoder = Decoder.none
    var pending: [Data]
    /// Whether a thread works on it or is asked to.
    var isBusy = false
    /// The whole file, once it is there.
    var ending: FetchedData?
    var lastPartial: ContinuousClock.Instant?
    /// What has come is to be shown, as soon as whoever works on it gets to that.
    private var isShowDue = false
    /// The bytes so far have turned out to be of no use.
    private var isAbandoned = false

    init(pending: [Data]) {
        self.pending = pending
    }

    /// What the thread that works on it does next.
    enum Step {
        case feed([Data], Decoder)
        case show(any IncrementalImageDecoding)
        case end(FetchedData)
        case rest
    }

    /// Takes the bytes that wait. When there are none, or too few to tell the format, nobody works on it from now on.
    mutating func nextStep() -> Step {
        if let ending { return .end(ending) }
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

    /// The time between two partial images is over. A thread that works on it may have looked at the clock before.
    /// - Returns: Whether a thread has to be asked to work on it.
    mutating func showNow() -> Bool {
        guard case .running = decoder else { return false }
        isShowDue = true
        defer { isBusy = true }
        return !isBusy
    }

    /// Whether there are enough bytes to tell the format, whichever it is, or they begin as a format does that is told
    /// at once.
    private var isFormatKnown: Bool {
        let head = Data(pending.joined().prefix(ImageFormat.sniffLength))
        return head.count >= ImageFormat.sniffLength
            || ImageFormat(sniffing: head).descriptor?.isDecodableInParts == true
    }

    /// There will be no more partial images; what was decoded is forgotten.
    mutating func abandon() {
        isAbandoned = true
        pending = []
        decoder = .unavailable
    }

    /// What a thread has made of the decoder meanwhile.
    mutating func setDecoder(_ decoder: Decoder) {
        if !isAbandoned { self.decoder = decoder }
    }

    /// - Returns: Whether a thread has to be asked to work on it.
    mutating func append(_ chunk: Data) -> Bool {
        if case .unavailable = decoder { return false }
        pending.append(chunk)
        defer { isBusy = true }
        return !isBusy
    }
}
