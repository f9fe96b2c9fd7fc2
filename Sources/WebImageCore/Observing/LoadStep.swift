public import FoundationEssentials

/// What happens to a load, for those who watch: counters, a log, tests.
public struct LoadStep: Sendable {
    /// What has happened.
    public enum Kind: Sendable {
        /// Somebody asked for the picture.
        case queued
        /// The memory cache has it, or does not.
        case memoryHit, memoryMiss
        /// The disk cache has it, as it was shown (`resultHit`) or as it came, or does not.
        case resultHit, diskHit, diskMiss
        /// A loader was asked; the first bytes have come, of so many that come in all, if that is known.
        case started
        case firstBytes(expected: Int64?)
        /// All bytes are there.
        case loaded(TransferMetrics?)
        /// It will be tried again.
        case retrying(ImageError, after: Duration)
        /// A partial picture was made.
        case partial
        /// The bytes were decoded, the transformer has run, in so much time.
        case decoded(Duration)
        case transformed(Duration)
        /// The original is on its way to the disk.
        case stored
        /// Somebody was given the picture, an error, or heard that it was cancelled.
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
