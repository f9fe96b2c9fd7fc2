public import FoundationEssentials

/// What happens to a load, for those who watch: counters, a log, tests.
public struct LoadTraceEvent: Sendable {
    /// What has happened.
    public enum Kind: Sendable {
        /// Somebody asked for the image.
        case queued
        /// The memory cache has it, or does not.
        case memoryHit, memoryMiss
        /// The disk cache has it, as it was shown (renditionHit) or as it came, or does not.
        case renditionHit, diskHit, diskMiss
        /// A loader was asked; the first bytes have come, of so many that come in all, if that is known.
        case started
        case firstBytes(expected: Int64?)
        /// All bytes are there.
        case loaded(TransferMetrics?)
        /// It will be tried again.
        case retrying(ImageError, after: Duration)
        /// A partial image was made.
        case partial
        /// The bytes were decoded, the transformer has run, in so much time.
        case decoded(Duration)
        case transformed(Duration)
        /// The original is on its way to the disk.
        case stored
        /// Somebody was given the image, an error, or heard that it was cancelled.
        case delivered(ImageResponse.Source)
        case failed(ImageError)
        case cancelled
    }

    /// What has happened.
    public let kind: Kind
    /// The URL that was asked for.
    public let url: URL
    /// When.
    public let time: ContinuousClock.Instant
}

/// How long the stages of a load took. A stage that was not passed through, or whose work another load did, has zero.
public struct StageDurations: Sendable, Hashable {
    /// Reading the disk cache.
    public var reading: Duration = .zero
    /// Decoding.
    public var decoding: Duration = .zero
    /// Running the transformer.
    public var transforming: Duration = .zero

    /// Makes durations of zero.
    public init() {}
}

/// What becomes of a load, as ImageManager/updates(for:) tells it.
public enum ImageUpdate: Sendable {
    /// Bytes received so far, and in all where that is known.
    case progress(received: Int64, expected: Int64?)
    /// A partial image, or a cached or smaller one that is shown until the load ends.
    case partial(WebImage)
    /// The end.
    case finished(Result<ImageResponse, ImageError>)
}
