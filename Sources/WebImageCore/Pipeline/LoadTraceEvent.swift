public import FoundationEssentials

/// A step of a load, for counters, logs and tests: see ``ImageManager/observe(_:)``.
public struct LoadTraceEvent: Sendable {
    /// The steps of a load. A load that joins another one reports the steps of both up to there, and the end of each.
    public enum Kind: Sendable {
        /// The app or a widget has asked for the image.
        case requested
        /// The memory cache has the image, or does not.
        case memoryHit, memoryMiss
        /// The disk cache has the image as it was shown, and has read it in this time.
        case renditionHit(Duration)
        /// The disk cache has the original file, and has read it in this time.
        case diskHit(Duration)
        /// The disk cache has neither, which it found out in this time.
        case diskMiss(Duration)
        /// A loader was asked for the bytes.
        case fetchStarted
        /// The first bytes arrived; `expected` is the number of all, when it is known.
        case firstBytes(expected: Int64?)
        /// All bytes arrived.
        case fetched(TransferMetrics?)
        /// The loader failed and is asked again after a delay.
        case retrying(ImageError, after: Duration)
        /// A partial image was made.
        case partial
        /// The bytes were decoded, in so much time.
        case decoded(Duration)
        /// The transformer ran, in so much time.
        case transformed(Duration)
        /// The original was handed to the disk cache, which writes it later.
        case stored
        /// The image, or the error, is on its way to the callbacks, which wait for their dispatcher. Not of an image that is
        /// delivered within the call that starts the load.
        case awaitingDelivery
        /// The load ended with an image from this source.
        case delivered(LoadSource)
        /// The load ended with an error.
        case failed(ImageError)
        /// The load was cancelled.
        case cancelled
    }

    /// Which step the load has taken.
    public let kind: Kind
    /// The URL that was requested.
    public let url: URL
    /// The time of the step.
    public let time: ContinuousClock.Instant
    /// Which load has taken the step, in an app that loads a URL several times at once. It is the identifier of an object that lives
    /// as long as the load, and may name another load later.
    ///
    /// `nil` for what loads of the same URL share, such as a transfer and a decode, and for an image that a widget takes from memory
    /// without a load, which is requested, hit and delivered within one call.
    public let loadID: ObjectIdentifier?
    /// What was delivered, with the pixels, which an observer had better not keep. `nil` for all other steps, and for a load of bytes
    /// without an image.
    public let response: ImageResponse?
}

extension Observers<LoadTraceEvent> {
    /// Reports a step that happens now.
    /// - Parameters:
    ///   - load: The task that has taken the step. Default: the step is shared.
    ///   - response: What the task delivers.
    func notify(
        _ url: URL,
        _ kind: @autoclosure () -> LoadTraceEvent.Kind,
        of load: AnyObject? = nil,
        with response: @autoclosure () -> ImageResponse? = nil
    ) {
        notify(
            LoadTraceEvent(
                kind: kind(),
                url: url,
                time: .now,
                loadID: load.map { ObjectIdentifier($0) },
                response: response()
            )
        )
    }
}

/// A step of a load as its caller sees it: see ``ImageManager/updates(for:)``.
public enum ImageUpdate: Sendable {
    /// The bytes received so far and, where the server says so, of all.
    case progress(received: Int64, expected: Int64?)
    /// A partial image, or a cached or smaller one that is shown until the load ends.
    case partial(WebImage)
    /// The load has ended, with its response or its error. It is the last update.
    case finished(Result<ImageResponse, ImageError>)
}
