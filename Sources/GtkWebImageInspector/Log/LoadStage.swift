/// The stages of a load, in order.
package enum LoadStage: String, CaseIterable, Sendable {
    /// The look-up in the memory cache.
    case memory = "Memory"
    /// The look-up in the disk cache.
    case disk = "Disk"
    /// The time from calling the loader to the first byte: its queue, the connection and the server.
    case waiting = "Waiting"
    /// The time from the first byte to the last.
    case transfer = "Transfer"
    case decode = "Decode"
    case transform = "Transform"
    /// Delivery on the main loop, and the callbacks.
    case shown = "Shown"
}

/// The span of one stage of a load.
package struct StageSpan: Sendable, Equatable {
    package let stage: LoadStage
    package let start: ContinuousClock.Instant
    package let end: ContinuousClock.Instant

    package var duration: Duration { end - start }
}
