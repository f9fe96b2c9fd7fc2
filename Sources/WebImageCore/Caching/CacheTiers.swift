/// The places where decoded pictures are kept.
public struct CacheTiers: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt8

    /// Makes a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Decoded, in memory.
    public static let memory = CacheTiers(rawValue: 1 << 0)
    /// On disk.
    public static let disk = CacheTiers(rawValue: 1 << 1)
    /// Everywhere.
    public static let all: CacheTiers = [.memory, .disk]
}
