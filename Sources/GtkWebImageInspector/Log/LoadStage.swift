/// The stages of a load, in order.
package enum LoadStage: Int, CaseIterable, Sendable {
    /// The look-up in the memory cache.
    case memory
    /// The look-up in the disk cache.
    case disk
    /// The time from calling the loader to the first byte: its queue, the connection and the server.
    case waiting
    /// The time from the first byte to the last.
    case transfer
    case decode
    /// The transformer of the request.
    case transform
    /// Delivery on the main loop, and the callbacks.
    case shown

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

/// The span of one stage of a load.
package struct StageSpan: Sendable, Equatable {
    package let stage: LoadStage
    /// When the stage began.
    package let start: ContinuousClock.Instant
    /// When the stage ended.
    package let end: ContinuousClock.Instant

    package var duration: Duration { end - start }
}
