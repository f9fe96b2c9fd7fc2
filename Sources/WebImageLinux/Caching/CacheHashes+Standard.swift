internal import CWebImageDeflate
internal import CWebImageGLib
package import WebImageCore

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
