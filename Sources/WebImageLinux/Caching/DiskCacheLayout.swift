import FoundationEssentials
import WebImageCore

/// How the directory of the disk cache is divided.
struct DiskCacheLayout: Sendable {
    /// Numbers of the layouts: to be raised when files of the old one are no longer read.
    private static let names = (originals: "originals-2", results: "results-1")
    private static let tag = """
        Signature: 8a477f597d28d172789f06886806bc55
        # This directory holds pictures that can be loaded again. See https://bford.info/cachedir/

        """

    let originals: DiskCache
    let results: DiskCache?
    private let directory: String

    init(_ configuration: ImageManager.Configuration.DiskCache) {
        directory = configuration.directory
        let share = min(max(configuration.renditionShare, 0), 1)
        let forResults = Int(Double(configuration.sizeLimit) * share)
        var limits = DiskLimits(
            sizeLimit: configuration.sizeLimit - forResults,
            maximumAge: configuration.maximumAge / .seconds(1),
            expiry: configuration.expiry,
            readOnlyDirectories: configuration.readOnlyDirectories
        )
        originals = DiskCache(directory: "\(directory)/\(Self.names.originals)", limits: limits, hashing: XXHasher())
        limits.sizeLimit = forResults
        limits.readOnlyDirectories = []
        let results = DiskCache(directory: "\(directory)/\(Self.names.results)", limits: limits, hashing: XXHasher())
        self.results = forResults > 0 ? results : nil
    }

    /// Marks the directory, and removes what earlier layouts have left. On the I/O queue.
    func prepare() {
        do {
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            let tag = "\(directory)/CACHEDIR.TAG"
            if !FileManager.default.fileExists(atPath: tag) {
                try FileStore().write([Data(Self.tag.utf8)], to: tag)
            }
            for name in try FileManager.default.contentsOfDirectory(atPath: directory) where isOutdated(name) {
                try FileManager.default.removeItem(atPath: "\(directory)/\(name)")
            }
        } catch {
            WebImageLog.debug("The cache directory \(directory) was not prepared: \(error)")
        }
    }

    /// Whether it is of an earlier layout. What is not known is left alone: the directory may be shared.
    private func isOutdated(_ name: String) -> Bool {
        for (current, prefix) in [(Self.names.originals, "originals-"), (Self.names.results, "results-")] {
            guard name.hasPrefix(prefix), let number = Int(name.dropFirst(prefix.count)) else { continue }
            return number < Int(current.dropFirst(prefix.count)) ?? 0
        }
        return false
    }
}
