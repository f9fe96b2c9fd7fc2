import FoundationEssentials
import Synchronization

/// The conversions of recent color profiles. Most images have one of a few profiles.
struct RecentProfiles<Conversion: Sendable>: ~Copyable {
    private struct Known {
        /// An array, because leak checkers cannot follow the memory of Data.
        let profile: [UInt8]
        let conversion: Conversion?
    }

    private let known = Mutex<[Known]>([])

    /// - Parameters:
    ///   - profile: An ICC profile.
    ///   - make: Makes the conversion; `nil` for a useless profile.
    func conversion(of profile: Data?, _ make: (Data) -> Conversion?) -> Conversion? {
        // The header of a profile has 128 bytes (ICC.1, 7.2).
        guard let profile, profile.count >= 128 else { return nil }
        let bytes = [UInt8](profile)
        if let found = known.withLock({ known in known.first { $0.profile == bytes } }) { return found.conversion }
        let made = make(profile)
        // Larger profiles are rare.
        guard bytes.count <= 1 << 20 else { return made }
        known.withLock { known in
            if known.count >= 16 { known.removeFirst() }
            known.append(Known(profile: bytes, conversion: made))
        }
        return made
    }
}
