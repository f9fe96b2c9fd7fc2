internal import CWebImageDeflate
internal import CWebImageGLib
import FoundationEssentials
import Glibc
package import WebImageCore

/// The two disk caches of a manager, which share a directory and a limit.
struct DiskCaches: Sendable {
    let originals: DiskCache
    /// `nil` if the configuration leaves no room for renditions.
    let renditions: DiskCache?
    private let directory: String

    init(_ configuration: ImageManager.Configuration.DiskCache) {
        directory = configuration.directory
        let share = configuration.renditionShare.bounded(to: 0...1, ifNaN: 0)
        @Sendable func renditionLimit(_ whole: Int) -> Int { Int(bounded: Double(whole) * share) }
        @Sendable func originalLimit(_ whole: Int) -> Int { whole - renditionLimit(whole) }
        /// The limits of one of the caches. The free space is measured at the first write, because managers are made on the main
        /// thread and the file system may be slow.
        func limits(_ part: @escaping @Sendable (Int) -> Int, _ readOnlyDirectories: [String]) -> DiskLimits {
            let own = configuration.ownSizeLimit
            let assumed = own ?? ImageManager.Configuration.DiskCache.largestDefaultSizeLimit
            return DiskLimits(
                size: MeasuredLimit(assuming: part(assumed)) {
                    part(own ?? ImageManager.Configuration.DiskCache.defaultSizeLimit(at: configuration.directory))
                },
                maximumAge: configuration.maximumAge / .seconds(1),
                expiry: configuration.expiry,
                readOnlyDirectories: readOnlyDirectories
            )
        }
        let originalLimits = limits(originalLimit, configuration.readOnlyDirectories)
        let renditionLimits = limits(renditionLimit, [])
        originals = Self.cache(.originals, in: directory, originalLimits)
        renditions = renditionLimits.sizeLimit > 0 ? Self.cache(.renditions, in: directory, renditionLimits) : nil
    }

    private static func cache(
        _ section: DiskCacheLayout.Section,
        in directory: String,
        _ limits: DiskLimits
    ) -> DiskCache {
        DiskCache(directory: "\(directory)/\(section.directoryName)", limits: limits, hashes: .standard)
    }

    /// Makes the directory, tags it as a cache, and removes old copies, sections of earlier layouts and symbolic links that replace sections.
    /// May block.
    func prepare() {
        CacheDirectory.removeOldCopies()
        do {
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            // unlink removes symbolic links, but no directories.
            for section in DiskCacheLayout.Section.allCases { unlink("\(directory)/\(section.directoryName)") }
            try CacheDirectory.tag(directory)
            for name in try FileManager.default.contentsOfDirectory(atPath: directory)
            where DiskCacheLayout.isOutdated(name) && Self.holdsOnlyEntries("\(directory)/\(name)") {
                try FileManager.default.removeItem(atPath: "\(directory)/\(name)")
            }
        } catch {
            WebImageLog.debug("The cache directory \(directory) could not be prepared: \(error)")
        }
    }
}

extension DiskCaches {
    /// Whether all files in a directory are named like cache entries. The cache may be in any directory, and a folder with the name
    /// of an earlier layout may belong to the user.
    private static func holdsOnlyEntries(_ directory: String) -> Bool {
        let manager = FileManager.default
        guard let names = try? manager.contentsOfDirectory(atPath: directory) else { return false }
        return names.allSatisfy { name in
            let files = try? manager.contentsOfDirectory(atPath: "\(directory)/\(name)")
            return name.utf8.count == 2 && files?.allSatisfy { DiskCacheLayout.isEntry("\(name)/\($0)") } == true
        }
    }
}

extension CacheHashes {
    /// The first 128 bits of GLib's SHA-256 for names, and libdeflate's CRC-32 for checksums.
    package static let standard = CacheHashes(
        name: { key in
            var key = key
            let digest = key.withUTF8 {
                g_compute_checksum_for_data(G_CHECKSUM_SHA256, $0.baseAddress, gsize($0.count))
            }
            defer { g_free(digest) }
            // GLib returns `nil` only for an unknown kind of checksum.
            return digest.map { String(String(cString: $0).prefix(32)) } ?? ""
        },
        checksum: { bytes in
            libdeflate_crc32(0, bytes.baseAddress, bytes.count)
        }
    )
}
