import FoundationEssentials

package struct MemoryEntry: Sendable {
    /// The identity of the image without its size, which a ``MemoryQuery`` looks up.
    package let key: ImageKey
    /// The image. Several sizes of it share a key.
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

/// The origin of an image in the memory cache.
package enum MemoryImageOrigin: Sendable {
    /// A load, which can be repeated at another size.
    case load
    /// The app. The cache may have the only copy.
    case app
}

/// How long an image in memory may be used, and for which requests. An object, since few images have terms.
package final class MemoryTerms: Sendable {
    private let start: Date
    private let lifetime: Double
    private let clock: any TimeKeeping
    /// When the response becomes stale, in seconds since 1970; infinity for never.
    let staleTime: Double
    /// Until when the image may be shown while its server is unreachable, in seconds since 1970; infinity for always.
    let servingLimit: Double
    /// The values of the request's header fields on which the response depends (Vary); `nil` if it depends on none.
    let varying: VaryingFields?

    /// - Returns: `nil` if the image may be used for every request at any time.
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

    /// Whether the lifetime is over. It also ends if the clock was set back by more than the lifetime, since the age is then
    /// unknown.
    var isOver: Bool { lifetime < .infinity && abs(clock.now.timeIntervalSince(start)) >= lifetime }
}
