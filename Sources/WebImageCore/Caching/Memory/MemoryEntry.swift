import FoundationEssentials

/// An image in a memory cache, with what is known about it.
package struct MemoryEntry: Sendable {
    /// The image, without its size: what a ``MemoryQuery`` asks for.
    package let key: ImageKey
    /// The image. Several sizes of it have the same key.
    package let image: WebImage
    let origin: MemoryImageOrigin
    let terms: MemoryTerms?

    package init(
        _ image: WebImage,
        for key: ImageKey,
        from origin: MemoryImageOrigin = .load,
        terms: MemoryTerms? = nil
    ) {
        self.key = key
        self.image = image
        self.origin = origin
        self.terms = terms
    }
}

/// Where an image in the memory cache comes from.
package enum MemoryImageOrigin: Sendable {
    /// A load, which can be repeated at the size that is wanted.
    case load
    /// The app, whose image may exist nowhere else.
    case app
}

/// For how long an image in memory serves, and which requests. An object, since few images have terms.
package final class MemoryTerms: Sendable {
    private let start: Date
    private let lifetime: Double
    private let clock: any TimeKeeping
    /// When the response is stale of which the image was made, in seconds since 1970; infinity for never.
    let staleTime: Double
    /// Until when the image serves while its server cannot be reached, in seconds since 1970; infinity for always.
    let servingLimit: Double
    /// What the request said by the header fields on which the response depends; `nil` when it depends on none.
    let varying: VaryingFields?

    /// - Returns: `nil` for an image that serves every request at any time.
    init?(
        lifetime: Duration?,
        staleTime: Double = .infinity,
        servingLimit: Double = .infinity,
        varying: VaryingFields? = nil,
        clock: any TimeKeeping
    ) {
        guard lifetime != nil || staleTime < .infinity || servingLimit < .infinity || varying != nil else { return nil }
        start = clock.now
        self.lifetime = lifetime.map { $0 / .seconds(1) } ?? .infinity
        self.staleTime = staleTime
        self.servingLimit = servingLimit
        self.varying = varying
        self.clock = clock
    }

    /// Whether the lifetime is over. After the clock was set back by more than that, the age of the image is unknown.
    var isOver: Bool { lifetime < .infinity && abs(clock.now.timeIntervalSince(start)) >= lifetime }
}
