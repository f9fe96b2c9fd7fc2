import FoundationEssentials
import Glibc

/// The file of a body that is arriving. Bytes are added to it until the body is complete, so that a process may end at any moment.
///
/// ```
/// magic (8) | length and checksum of the head (4 each) | head, as JSON | records
/// ```
///
/// A record has a checksum of all that follows in it (4 bytes), the number of its bytes (4), their offset in the body (8), the serial
/// number of the file (8) and the bytes. All numbers are little-endian. Reading ends at the first record that is cut off or damaged.
enum PartialFileFormat {
    /// What the file is a part of.
    struct Head: Codable {
        /// The key of the resource in the caches. A file with the right name and another key is not the one.
        var key: String
        var version: PartialBody.Version
        /// A salted hash of the header fields of the request.
        var fields: String
        /// A random number, so that records of another file are none of this one.
        var serial: UInt64
    }

    static let magic = Array("GWIpart1".utf8)
    static let prefixLength = 16
    static let recordLength = 24
    /// The largest length of the head. A file that claims more is damaged.
    static let maximumHeadLength = 256 << 10
    /// The largest record, in bytes of the body.
    static let maximumRecordByteCount = 1 << 20

    /// The most records that a number of bytes has: each transfer ends with a short one, and those of the library are few.
    static func maximumRecordCount(of byteCount: Int) -> Int { 64 + byteCount / (64 << 10) }

    static func encode(_ head: Head, _ hashes: CacheHashes) throws -> Data {
        let json = try JSONEncoder().encode(head)
        guard json.count <= maximumHeadLength else { throw FileError(call: "write", path: head.key, number: EFBIG) }
        var data = Data(magic)
        data.append(little: UInt32(json.count))
        data.append(little: json.withUnsafeBytes { hashes.checksum($0) })
        return data + json
    }

    /// - Parameter prefix: The first bytes of a file.
    /// - Returns: The length of the head and its checksum.
    static func parsePrefix(_ prefix: Data) -> (length: Int, checksum: UInt32)? {
        prefix.withUnsafeBytes { raw in
            let bytes = ByteReader(raw)
            guard bytes.matches(magic, at: 0), let length = bytes.uint32LE(8), let checksum = bytes.uint32LE(12),
                length <= maximumHeadLength
            else { return nil }
            return (Int(length), checksum)
        }
    }

    static func parseHead(_ json: Data, checksum: UInt32, _ hashes: CacheHashes) -> Head? {
        guard json.withUnsafeBytes({ hashes.checksum($0) }) == checksum else { return nil }
        return try? JSONDecoder().decode(Head.self, from: json)
    }

    static func encode(_ bytes: Data, at offset: Int, serial: UInt64, _ hashes: CacheHashes) -> Data {
        var record = Data(capacity: recordLength + bytes.count)
        record.append(little: UInt32(0))
        record.append(little: UInt32(bytes.count))
        record.append(little: UInt64(offset))
        record.append(little: serial)
        record.append(bytes)
        let checksum = record.withUnsafeBytes { hashes.checksum(UnsafeRawBufferPointer(rebasing: $0[4...])) }
        record.replaceSubrange(0..<4, with: Swift.withUnsafeBytes(of: checksum.littleEndian) { Data($0) })
        return record
    }

    /// The number of bytes and the checksum of the record that begins here, if it continues a body.
    static func parseRecord(_ start: Data, at offset: Int, serial: UInt64) -> (byteCount: Int, checksum: UInt32)? {
        start.withUnsafeBytes { raw in
            let bytes = ByteReader(raw)
            guard let checksum = bytes.uint32LE(0), let count = bytes.uint32LE(4), bytes.uint64LE(8) == UInt64(offset),
                bytes.uint64LE(16) == serial, (1...UInt32(maximumRecordByteCount)).contains(count)
            else { return nil }
            return (Int(count), checksum)
        }
    }
}

/// A file of a body that is open.
///
/// The descriptor has an exclusive lock (flock(2)), which ends with the process, however that ends: whoever gets it may go on with the
/// file of a process that was killed.
///
/// @unchecked: the pieces of work of a writer, which run one after the other, use it.
final class PartialFile: @unchecked Sendable {
    let head: PartialFileFormat.Head
    private let descriptor: Int32
    private let path: String
    private let hashes: CacheHashes
    private let files: any FileStoring
    /// The bytes of the body in the file.
    private(set) var count: Int
    /// The size of the file.
    private(set) var size: Int

    init(
        _ descriptor: Int32,
        path: String,
        head: PartialFileFormat.Head,
        count: Int,
        size: Int,
        _ tools: (hashes: CacheHashes, files: any FileStoring)
    ) {
        self.descriptor = descriptor
        self.path = path
        self.head = head
        self.count = count
        self.size = size
        (hashes, files) = tools
    }

    deinit {
        close(descriptor)
    }

    /// Whether the file still has a name. It has none once the cache was emptied or has removed the file to make room.
    var isLinked: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_nlink > 0
    }

    /// Adds the next bytes of the body, as many as a record takes.
    func append(_ bytes: Data) throws {
        let record = PartialFileFormat.encode(bytes, at: count, serial: head.serial, hashes)
        guard FileStore.allowsFile(of: size + record.count) else {
            throw FileError(call: "write", path: path, number: EFBIG)
        }
        try files.write(record, to: descriptor, at: size, path: path)
        count += bytes.count
        size += record.count
    }
}

extension Data {
    fileprivate mutating func append(little number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }
}
