import FoundationEssentials

/// An image in a memory cache, with what is known about it.
public struct MemoryEntry: Sendable {
    /// The image, without its size: what a ``MemoryQuery`` asks for.
    public let key: ImageKey
    /// The image. Several sizes of it have the same key.
    public let image: WebImage
    let origin: MemoryImageOrigin
    let expiry: MemoryExpiry?

    package init(
        _ image: WebImage,
        for key: ImageKey,
        from origin: MemoryImageOrigin = .load,
        expiry: MemoryExpiry? = nil
    ) {
        self.key = key
        self.image = image
        self.origin = origin
        self.expiry = expiry
    }

    /// Whether the image is too old to serve, by ``CacheLifetime/memory`` of its request or the lifetime of the configuration.
    public var isExpired: Bool { expiry?.isOver ?? false }

    /// Whether another entry is the same image at the same size, so that a cache keeps one of them.
    public func replaces(_ other: MemoryEntry) -> Bool {
        key == other.key && image.decodedSize == other.image.decodedSize
    }
}

/// Where an image in the memory cache comes from.
package enum MemoryImageOrigin: Sendable {
    /// A load, which can be repeated at the size that is wanted.
    case load
    /// The app, whose image may exist nowhere else.
    case app
}

/// The end of an image's time in memory. An object, since few images have one.
package final class MemoryExpiry: Sendable {
    private let start: Date
    private let lifetime: Double
    private let clock: any TimeKeeping

    package init(_ lifetime: Duration, _ clock: any TimeKeeping) {
        start = clock.now
        self.lifetime = lifetime / .seconds(1)
        self.clock = clock
    }

    /// Whether the time is over. After the clock was set back by more than the lifetime, nobody knows how old the image is.
    var isOver: Bool { abs(clock.now.timeIntervalSince(start)) >= lifetime }
}
