/// A stage of a load, in the order in which they happen.
package enum LoadStage: Int, CaseIterable, Sendable {
    /// The look into the memory cache.
    case memory
    /// Reading the disk cache.
    case disk
    /// The time from asking the loader to the first byte: its queue, the connection, and the server.
    case waiting
    /// The time from the first byte to the last one.
    case transfer
    /// Decoding.
    case decode
    /// The transformer of the request.
    case transform
    /// The way back to the main loop, and the callbacks.
    case shown

    /// The name of the stage.
    package var name: String {
        switch self {
        case .memory: "Memory"
        case .disk: "Disk"
        case .waiting: "Waiting"
        case .transfer: "Transfer"
        case .decode: "Decode"
        case .transform: "Transform"
        case .shown: "Shown"
        }
    }
}

/// The part of a load that one stage took.
package struct StageSpan: Sendable, Equatable {
    /// The stage.
    package let stage: LoadStage
    /// When it began.
    package let start: ContinuousClock.Instant
    /// When it ended.
    package let end: ContinuousClock.Instant

    /// How long it took.
    package var duration: Duration { end - start }
}
