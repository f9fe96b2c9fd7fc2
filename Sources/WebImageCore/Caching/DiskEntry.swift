package import FoundationEssentials

/// A file of the disk cache: the bytes of a picture as they came, and what was said about them.
package struct DiskEntry: Sendable, Equatable {
    /// What is remembered beside the bytes.
    package struct Metadata: Codable, Sendable, Equatable {
        /// The whole key; a file whose name is right but whose key is another's is not this entry.
        package var key: String
        /// What the server said about the bytes.
        package var response: ResponseMetadata
        /// Seconds since 1970 when it was stored.
        package var storedAt: Double

        package init(
            key: String,
            response: ResponseMetadata = ResponseMetadata(),
            storedAt: Double
        ) {
            self.key = key
            self.response = response
            self.storedAt = storedAt
        }
    }

    package var data: Data
    package var metadata: Metadata

    package init(data: Data, metadata: Metadata) {
        self.data = data
        self.metadata = metadata
    }
}

/// How an entry lies in its file: the picture first, so that any program opens it, then the metadata as JSON, then a
/// footer of fixed size. One file, so that one rename puts all of it in place.
///
///     bytes of the picture | JSON | length of picture, length of JSON, checksum of both (8 bytes each, little-endian),
///                                   magic number (8 bytes)
extension DiskEntry {
    private static let magic: [UInt8] = Array("GWIdisk1".utf8)
    private static let footerLength = 32

    package func encoded(_ hashing: some ContentHashing) throws -> Data {
        let json = try JSONEncoder().encode(metadata)
        var file = Data(capacity: data.count + json.count + Self.footerLength)
        file.append(data)
        file.append(json)
        let checksum = file.withUnsafeBytes { hashing.checksum($0) }
        for number in [UInt64(data.count), UInt64(json.count), checksum] {
            withUnsafeBytes(of: number.littleEndian) { file.append(contentsOf: $0) }
        }
        file.append(contentsOf: Self.magic)
        return file
    }

    /// - Returns: `nil` when the file is not whole, not sound, or not the entry of `key`.
    package init?(file: Data, key: String, _ hashing: some ContentHashing) {
        let contentLength = file.count - Self.footerLength
        guard contentLength >= 0 else { return nil }
        let lengths: (picture: Int, json: Int)? = file.withUnsafeBytes { bytes in
            func number(_ index: Int) -> UInt64 {
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: contentLength + index * 8, as: UInt64.self))
            }
            guard bytes[(contentLength + 24)...].elementsEqual(Self.magic),
                let picture = Int(exactly: number(0)), let json = Int(exactly: number(1)),
                picture <= contentLength, json == contentLength - picture,
                hashing.checksum(UnsafeRawBufferPointer(rebasing: bytes[..<contentLength])) == number(2)
            else { return nil }
            return (picture, json)
        }
        guard let lengths else { return nil }
        let start = file.startIndex
        let json = file[(start + lengths.picture)..<(start + contentLength)]
        guard let metadata = try? JSONDecoder().decode(Metadata.self, from: json), metadata.key == key else {
            return nil
        }
        self.init(data: file.prefix(lengths.picture), metadata: metadata)
    }
}
