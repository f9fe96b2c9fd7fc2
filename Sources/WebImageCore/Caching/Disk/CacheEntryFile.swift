package import FoundationEssentials

/// How an entry lies in its file: the image first, so that any program opens it, then the rest as JSON, then a footer
/// of fixed size. One file, so that one rename puts all of it in place.
///
/// ```
/// bytes of the image | JSON | length of the image, length of the JSON, checksum of the image, checksum of the JSON and
/// of the lengths (8 bytes each, little-endian), magic number (8 bytes)
/// ```
package struct CacheEntryFile {
    /// What is in the JSON.
    private struct Metadata: Codable {
        /// The whole key; a file whose name is right but whose key is another's is not this entry.
        var key: String
        var response: ResponseMetadata
        var storedAt: Date
        var result: RenditionInfo?
        var thumbHash: Data?
    }

    package static let footerLength = 40
    private static let magic: [UInt8] = Array("GWIdisk2".utf8)

    /// Takes the key of an entry and gives its file.
    package static func encode(_ entry: CacheEntry, _ hashing: any ContentHashing) throws -> [Data] {
        let metadata = Metadata(
            key: entry.key,
            response: entry.response,
            storedAt: entry.storedAt,
            result: entry.result,
            thumbHash: entry.thumbHash?.data
        )
        var tail = try JSONEncoder().encode(metadata)
        let jsonLength = tail.count
        for length in [entry.data.count, jsonLength] { tail.append(UInt64(length)) }
        let checksum = tail.withUnsafeBytes { hashing.checksum($0) }
        tail.append(entry.data.withUnsafeBytes { hashing.checksum($0) })
        tail.append(checksum)
        tail.append(contentsOf: magic)
        return [entry.data, tail]
    }

    private let footer: Footer
    private let metadata: Metadata

    /// Reads the end of a file.
    /// - Parameters:
    ///   - tail: The last bytes of the file.
    ///   - size: The number of bytes in all of it.
    ///   - key: Whose entry it has to be.
    /// - Throws: NeedsMore when the tail is too short.
    /// - Returns: nil when the file is not whole, not sound, or not the entry of key.
    package init?(tail: Data, size: Int, key: String, _ hashing: any ContentHashing) throws(NeedsMore) {
        guard let footer = Footer(tail, size: size) else { return nil }
        let needed = footer.jsonLength + Self.footerLength
        guard tail.count >= needed else { throw NeedsMore(byteCount: needed) }
        let signed = tail.suffix(needed).prefix(footer.jsonLength + 16)
        guard signed.withUnsafeBytes({ hashing.checksum($0) }) == footer.jsonChecksum,
            let metadata = try? JSONDecoder().decode(Metadata.self, from: signed.prefix(footer.jsonLength)),
            metadata.key == key
        else { return nil }
        self.footer = footer
        self.metadata = metadata
    }

    /// A longer tail is wanted.
    package struct NeedsMore: Error {
        package let byteCount: Int
    }

    /// The entry without its bytes.
    package var description: CacheEntry {
        var entry = CacheEntry(
            key: metadata.key,
            data: Data(),
            response: metadata.response,
            storedAt: metadata.storedAt
        )
        entry.result = metadata.result
        entry.thumbHash = metadata.thumbHash.flatMap { ThumbHash($0) }
        return entry
    }

    /// The entry, if the bytes of the image are what they were.
    package func entry(_ file: Data, _ hashing: any ContentHashing) -> CacheEntry? {
        let data = file.prefix(footer.dataLength)
        guard data.withUnsafeBytes({ hashing.checksum($0) }) == footer.dataChecksum else { return nil }
        var entry = description
        entry.data = data
        return entry
    }

    private struct Footer {
        let dataLength: Int
        let jsonLength: Int
        let dataChecksum: UInt64
        let jsonChecksum: UInt64

        init?(_ tail: Data, size: Int) {
            guard tail.count >= CacheEntryFile.footerLength else { return nil }
            let numbers: [UInt64]? = tail.suffix(CacheEntryFile.footerLength).withUnsafeBytes { bytes in
                guard bytes[32...].elementsEqual(CacheEntryFile.magic) else { return nil }
                return (0..<4).map {
                    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self))
                }
            }
            guard let numbers, let dataLength = Int(exactly: numbers[0]), let jsonLength = Int(exactly: numbers[1]),
                dataLength <= size, jsonLength == size - dataLength - CacheEntryFile.footerLength
            else { return nil }
            self.dataLength = dataLength
            self.jsonLength = jsonLength
            dataChecksum = numbers[2]
            jsonChecksum = numbers[3]
        }
    }
}

extension Data {
    fileprivate mutating func append(_ number: UInt64) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }
}
