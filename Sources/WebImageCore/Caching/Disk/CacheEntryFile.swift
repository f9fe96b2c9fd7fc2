package import FoundationEssentials

/// The file of one cache entry: the image first, so that any program can open it, then its metadata, then a footer of fixed size. One
/// rename puts a single file in place.
///
/// ```
/// image | metadata | footer
/// ```
///
/// The footer has the lengths of the image and of the metadata (8 bytes each), their checksums (4 bytes each), and
/// ``DiskCacheLayout/magic`` (8 bytes). All numbers are little-endian.
package struct CacheEntryFile {
    package static let footerLength = 32
    /// The largest length of the metadata. A file that claims more is damaged, and is not read.
    static let maximumMetadataLength = 4 << 20

    /// The contents of an entry's file, in pieces.
    /// - Throws: ``StoreFailure/metadataTooLarge`` if readers would reject the file.
    package static func encode(_ entry: CacheEntry, _ hashes: CacheHashes) throws -> [Data] {
        var (written, coder) = (entry, MessageCoder())
        try written.code(&coder)
        let (image, metadata) = (entry.data, coder.bytes)
        guard metadata.count <= maximumMetadataLength else { throw StoreFailure.metadataTooLarge }
        var footer = Footer(
            imageLength: image.count,
            metadataLength: metadata.count,
            imageChecksum: image.withUnsafeBytes { hashes.checksum($0) },
            metadataChecksum: metadata.withUnsafeBytes { hashes.checksum($0) }
        )
        try footer.code(&coder)
        return [image, Data(coder.bytes)]
    }

    private let footer: Footer
    /// The entry without its bytes.
    let entryWithoutData: CacheEntry

    /// Reads the end of a file.
    /// - Parameters:
    ///   - tail: The last bytes of the file.
    ///   - size: The size of the whole file in bytes.
    ///   - key: The key of the expected entry; `nil` accepts any key.
    /// - Throws: ``NeedsMore`` if the tail is too short.
    /// - Returns: `nil` if the file is incomplete, damaged, or belongs to another key.
    package init?(tail: Data, size: Int, key: String?, _ hashes: CacheHashes) throws(NeedsMore) {
        var (footer, coder) = (Footer(), MessageCoder(reading: ArraySlice(tail.suffix(Self.footerLength))))
        let contentLength = size - Self.footerLength
        guard (try? footer.code(&coder)) != nil, (0...Self.maximumMetadataLength).contains(footer.metadataLength),
            footer.imageLength == contentLength - footer.metadataLength, footer.imageLength >= 0
        else { return nil }
        let needed = footer.metadataLength + Self.footerLength
        guard tail.count >= needed else { throw NeedsMore(byteCount: needed) }
        let metadata = ArraySlice(tail.suffix(needed).prefix(footer.metadataLength))
        var entry = CacheEntry(key: "", data: Data(), storedAt: .distantPast)
        coder = MessageCoder(reading: metadata)
        guard metadata.withUnsafeBytes({ hashes.checksum($0) }) == footer.metadataChecksum,
            (try? entry.code(&coder)) != nil, entry.key == key ?? entry.key
        else { return nil }
        (self.footer, entryWithoutData) = (footer, entry)
    }

    /// The tail of a file does not hold all of the metadata.
    package struct NeedsMore: Error {
        /// The length of a tail that holds the metadata.
        package let byteCount: Int
    }

    /// The entry with its bytes.
    /// - Returns: `nil` if the bytes are damaged.
    package func entry(_ file: Data, _ hashes: CacheHashes) -> CacheEntry? {
        let data = file.prefix(footer.imageLength)
        guard data.withUnsafeBytes({ hashes.checksum($0) }) == footer.imageChecksum else { return nil }
        var entry = entryWithoutData
        entry.data = data
        return entry
    }

    private struct Footer {
        var imageLength = 0
        var metadataLength = 0
        var imageChecksum: UInt32 = 0
        var metadataChecksum: UInt32 = 0

        mutating func code(_ coder: inout MessageCoder) throws(MessageCoder.Malformed) {
            try coder.code(&imageLength)
            try coder.code(&metadataLength)
            try coder.code(&imageChecksum)
            try coder.code(&metadataChecksum)
            for expected in DiskCacheLayout.magic {
                var byte = expected
                try coder.code(&byte)
                try coder.check(byte == expected)
            }
        }
    }
}

extension CacheEntry {
    /// Lists the metadata. Add optional fields at the end: neither earlier versions nor their files need them.
    fileprivate mutating func code(_ coder: inout MessageCoder) throws(MessageCoder.Malformed) {
        var (response, time, hash) = (response, Optional(storedAt), thumbHash?.data)
        // The whole key tells entries apart whose file names collide.
        try coder.code(&key)
        try response.code(&coder)
        try coder.code(&time)
        try coder.code(presenceOf: &rendition, or: RenditionInfo())
        try rendition?.code(&coder)
        try coder.code(&hash)
        try coder.code(&attachment)
        guard coder.isReading else { return }
        (self.response, storedAt, thumbHash) = (response, time ?? .distantPast, hash.flatMap { ThumbHash($0) })
        // The image stays usable without oversized data.
        if attachment?.count ?? 0 > Self.maximumAttachmentByteCount { attachment = nil }
    }
}
