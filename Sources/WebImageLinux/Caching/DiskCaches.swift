internal import CWebImageDeflate
internal import CWebImageGLib
import FoundationEssentials
package import WebImageCore

/// The two disk caches of a manager, in one directory and with one limit.
struct DiskCaches: Sendable {
    let originals: DiskCache
    /// `nil` when the configuration leaves no room for renditions.
    let renditions: DiskCache?
    private let directory: String

    init(_ configuration: ImageManager.Configuration.DiskCache) {
        directory = configuration.directory
        let share = configuration.renditionShare.bounded(to: 0...1, ifNaN: 0)
        let renditionLimit = Int(bounded: Double(configuration.sizeLimit) * share)
        var limits = DiskLimits(
            sizeLimit: configuration.sizeLimit - renditionLimit,
            maximumAge: configuration.maximumAge / .seconds(1),
            expiry: configuration.expiry,
            readOnlyDirectories: configuration.readOnlyDirectories
        )
        originals = Self.cache(.originals, in: directory, limits)
        limits.sizeLimit = renditionLimit
        limits.readOnlyDirectories = []
        renditions = renditionLimit > 0 ? Self.cache(.renditions, in: directory, limits) : nil
    }

    private static func cache(
        _ section: DiskCacheLayout.Section,
        in directory: String,
        _ limits: DiskLimits
    ) -> DiskCache {
        DiskCache(directory: "\(directory)/\(section.directoryName)", limits: limits, hashes: .standard)
    }

    /// Makes the directory, tags it as a cache, and removes the directories of earlier layouts. Runs on the I/O queue.
    func prepare() {
        do {
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            let tag = "\(directory)/\(DiskCacheLayout.tagName)"
            if !FileManager.default.fileExists(atPath: tag) {
                try FileStore().write([Data(DiskCacheLayout.tag.utf8)], to: tag)
            }
            for name in try FileManager.default.contentsOfDirectory(atPath: directory)
            where DiskCacheLayout.isOutdated(name) {
                try FileManager.default.removeItem(atPath: "\(directory)/\(name)")
            }
        } catch {
            WebImageLog.debug("The cache directory \(directory) could not be prepared: \(error)")
        }
    }
}

extension CacheHashes {
    /// SHA-256 of GLib for names, of which 128 bits are kept, and the CRC-32 of libdeflate for checksums.
    package static let standard = CacheHashes(
        name: { key in
            var key = key
            let digest = key.withUTF8 {
                g_compute_checksum_for_data(G_CHECKSUM_SHA256, $0.baseAddress, gsize($0.count))
            }
            defer { g_free(digest) }
            // GLib returns `nil` for an unknown kind of checksum only.
            return digest.map { String(String(cString: $0).prefix(32)) } ?? ""
        },
        checksum: { bytes in
            libdeflate_crc32(0, bytes.baseAddress, bytes.count)
        }
    )
}
