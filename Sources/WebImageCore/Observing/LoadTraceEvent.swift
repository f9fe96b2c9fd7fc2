public import FoundationEssentials

/// A step of a load, for counters, logs and tests: see ``ImageManager/traceEvents()``.
public struct LoadTraceEvent: Sendable {
    /// The steps of a load. A load that joins another one reports its own steps up to the join, the shared steps, and its own end.
    public enum Kind: Sendable {
        /// The app or a widget has asked for the image.
        case requested
        /// The memory cache has the image, or does not have it.
        case memoryHit, memoryMiss
        /// The disk cache has the image at the size shown. The value is the time that reading it took.
        case renditionHit(Duration)
        /// The disk cache has the original file. The value is the time that reading it took.
        case diskHit(Duration)
        /// The disk cache has neither. The value is the time that looking took.
        case diskMiss(Duration)
        /// A loader was asked for the bytes.
        case fetchStarted
        /// The first bytes arrived; `expected` is the length of the body, if it is known.
        case firstBytes(expected: Int64?)
        /// All bytes arrived.
        case fetched(TransferMetrics?)
        /// The loader failed and is asked again after a delay.
        case retrying(ImageError, after: Duration)
        /// A partial image was made.
        case partial
        /// The bytes were decoded. The value is the time that it took.
        case decoded(Duration)
        /// The transformer ran. The value is the time that it took.
        case transformed(Duration)
        /// The original was handed to the disk cache, which writes it later.
        case stored
        /// The image or the error is ready, and its callbacks wait for their dispatcher. Not reported for an image that
        /// is delivered within the call that starts the load.
        case awaitingDelivery
        /// The load ended with an image from this source.
        case delivered(LoadSource)
        /// The load ended with an error.
        case failed(ImageError)
        /// The load was cancelled.
        case cancelled
    }

    /// The step.
    public let kind: Kind
    /// The URL that was requested.
    public let url: URL
    /// The time of the step.
    public let time: ContinuousClock.Instant
    /// Identifies the load among several loads of the same URL. It is the identifier of an object that lives as long as
    /// the load, and may identify another load later.
    ///
    /// `nil` for steps that loads of the same URL share, such as a transfer or a decode, and for an image that a widget
    /// takes from memory without a load: such an image is requested, found and delivered within one call.
    public let loadID: ObjectIdentifier?
    /// The delivered response, including its pixels, so an observer should not keep it. `nil` for all other steps, and
    /// for loads of bytes.
    package let response: ImageResponse?
}

extension Observers<LoadTraceEvent> {
    /// Reports a step that happens now.
    /// - Parameters:
    ///   - load: The task that the step belongs to. Default: the step is shared.
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
    /// The bytes received so far, and the length of the body if the server states it.
    case progress(received: Int64, expected: Int64?)
    /// A partial image, or a cached or smaller image that is shown until the load ends.
    case partial(WebImage)
    /// The load has ended, with its response or its error. It is the last update.
    case finished(Result<ImageResponse, ImageError>)
}
