package import FoundationEssentials

/// The file of one cache entry: the image first, so that any program can open it, then the metadata as JSON, then a footer of fixed
/// size. One rename puts a single file in place.
///
/// ```
/// image | JSON | footer
/// ```
///
/// The footer has the lengths of the image and of the JSON (8 bytes each), a checksum of the image, a checksum of the JSON and
/// the lengths (4 bytes each), and ``DiskCacheLayout/magic`` (8 bytes). All numbers are little-endian.
package struct CacheEntryFile {
    /// The contents of the JSON.
    private struct Metadata: Codable {
        /// The whole key. It tells entries apart whose file names collide.
        var key: String
        var response: ResponseMetadata
        var storedAt: Date
        var rendition: RenditionInfo?
        var thumbHash: Data?
        var attachment: Attachment?
    }

    /// The app's data about the image. Invalid or oversized data counts as absent, so the image stays usable.
    private struct Attachment: Codable {
        let data: Data?

        init?(_ data: Data?) {
            guard let data, data.count <= CacheEntry.maximumAttachmentByteCount else { return nil }
            self.data = data
        }

        init(from decoder: any Decoder) {
            let found = try? decoder.singleValueContainer().decode(Data.self)
            data = found.flatMap { $0.count <= CacheEntry.maximumAttachmentByteCount ? $0 : nil }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(data)
        }
    }

    package static let footerLength = 32
    /// The largest length of the JSON. A file that claims more is damaged, and is not read.
    static let maximumMetadataLength = 4 << 20

    /// The contents of an entry's file, in pieces.
    /// - Throws: ``StoreFailure/metadataTooLarge`` if readers would reject the file.
    package static func encode(_ entry: CacheEntry, _ hashes: CacheHashes) throws -> [Data] {
        let metadata = Metadata(
            key: entry.key,
            response: entry.response,
            storedAt: entry.storedAt,
            rendition: entry.rendition,
            thumbHash: entry.thumbHash?.data,
            attachment: Attachment(entry.attachment)
        )
        var tail = try JSONEncoder().encode(metadata)
        let jsonLength = tail.count
        guard jsonLength <= maximumMetadataLength else { throw StoreFailure.metadataTooLarge }
        tail.append(UInt64(entry.data.count))
        tail.append(UInt64(jsonLength))
        let checksum = tail.withUnsafeBytes { hashes.checksum($0) }
        tail.append(entry.data.withUnsafeBytes { hashes.checksum($0) })
        tail.append(checksum)
        tail.append(contentsOf: DiskCacheLayout.magic)
        return [entry.data, tail]
    }

    private let footer: Footer
    private let metadata: Metadata

    /// Reads the end of a file.
    /// - Parameters:
    ///   - tail: The last bytes of the file.
    ///   - size: The size of the whole file in bytes.
    ///   - key: The key of the expected entry; `nil` accepts any key.
    /// - Throws: ``NeedsMore`` if the tail is too short.
    /// - Returns: `nil` if the file is incomplete, damaged, or belongs to another key.
    package init?(tail: Data, size: Int, key: String?, _ hashes: CacheHashes) throws(NeedsMore) {
        guard let footer = Footer(tail, size: size) else { return nil }
        let needed = footer.jsonLength + Self.footerLength
        guard tail.count >= needed else { throw NeedsMore(byteCount: needed) }
        let signed = tail.suffix(needed).prefix(footer.jsonLength + 16)
        guard signed.withUnsafeBytes({ hashes.checksum($0) }) == footer.jsonChecksum,
            let metadata = try? JSONDecoder().decode(Metadata.self, from: signed.prefix(footer.jsonLength)),
            metadata.key == key ?? metadata.key
        else { return nil }
        self.footer = footer
        self.metadata = metadata
    }

    /// The tail of a file does not hold all of the metadata.
    package struct NeedsMore: Error {
        /// The length of a tail that holds the metadata.
        package let byteCount: Int
    }

    /// The entry without its bytes.
    var entryWithoutData: CacheEntry {
        var entry = CacheEntry(
            key: metadata.key,
            data: Data(),
            response: metadata.response,
            storedAt: metadata.storedAt
        )
        entry.rendition = metadata.rendition
        entry.thumbHash = metadata.thumbHash.flatMap { ThumbHash($0) }
        entry.attachment = metadata.attachment?.data
        return entry
    }

    /// The entry with its bytes.
    /// - Returns: `nil` if the bytes are damaged.
    package func entry(_ file: Data, _ hashes: CacheHashes) -> CacheEntry? {
        let data = file.prefix(footer.dataLength)
        guard data.withUnsafeBytes({ hashes.checksum($0) }) == footer.dataChecksum else { return nil }
        var entry = entryWithoutData
        entry.data = data
        return entry
    }

    private struct Footer {
        let dataLength: Int
        let jsonLength: Int
        let dataChecksum: UInt32
        let jsonChecksum: UInt32

        init?(_ tail: Data, size: Int) {
            guard tail.count >= CacheEntryFile.footerLength else { return nil }
            let found: Footer? = tail.suffix(CacheEntryFile.footerLength).withUnsafeBytes { raw in
                let bytes = ByteReader(raw)
                guard bytes.matches(DiskCacheLayout.magic, at: 24),
                    let dataLength = bytes.uint64LE(0).flatMap(Int.init(exactly:)),
                    let jsonLength = bytes.uint64LE(8).flatMap(Int.init(exactly:)),
                    let dataChecksum = bytes.uint32LE(16), let jsonChecksum = bytes.uint32LE(20)
                else { return nil }
                return Footer(
                    dataLength: dataLength,
                    jsonLength: jsonLength,
                    dataChecksum: dataChecksum,
                    jsonChecksum: jsonChecksum
                )
            }
            guard let found, found.dataLength <= size, found.jsonLength <= CacheEntryFile.maximumMetadataLength,
                found.jsonLength == size - found.dataLength - CacheEntryFile.footerLength
            else { return nil }
            self = found
        }

        private init(dataLength: Int, jsonLength: Int, dataChecksum: UInt32, jsonChecksum: UInt32) {
            self.dataLength = dataLength
            self.jsonLength = jsonLength
            self.dataChecksum = dataChecksum
            self.jsonChecksum = jsonChecksum
        }
    }
}

extension Data {
    fileprivate mutating func append(_ number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }
}
