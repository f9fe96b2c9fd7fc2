import FoundationEssentials
import Glibc

/// The directory of the files of bodies that have not arrived as a whole. Nothing in it is trusted: what is no regular file, or none of
/// the library's, is not read, and files are opened from the directory, so that no symbolic link leads elsewhere.
struct PartialDirectory {
    /// A file of the directory.
    struct Item {
        let name: String
        let size: Int
        let modified: Int
    }

    private let descriptor: Descriptor
    private let path: String
    private let hashes: CacheHashes
    private let files: any FileStoring

    /// A descriptor that is closed with the last copy of the value.
    private final class Descriptor {
        let number: Int32

        init(_ number: Int32) {
            self.number = number
        }

        deinit {
            close(number)
        }
    }

    /// Opens the directory.
    /// - Parameter makes: Whether it is made when it does not exist.
    /// - Returns: `nil` when there is none.
    init?(_ path: String, makes: Bool, hashes: CacheHashes, files: any FileStoring) throws {
        var number = Self.open(path)
        if number < 0, errno == ENOENT, makes {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            number = Self.open(path)
        }
        guard number >= 0 else {
            let code = errno
            guard makes else { return nil }
            throw FileError(call: "open", path: path, number: code)
        }
        descriptor = Descriptor(number)
        self.path = path
        self.hashes = hashes
        self.files = files
    }

    private static func open(_ path: String) -> Int32 {
        Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    }

    func remove(_ name: String) { unlinkat(descriptor.number, name, 0) }

    /// The regular files, in no order.
    var items: [Item] {
        let copy = openat(descriptor.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0, let stream = fdopendir(copy) else {
            if copy >= 0 { close(copy) }
            return []
        }
        defer { closedir(stream) }
        var items: [Item] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(cString: $0.bindMemory(to: CChar.self).baseAddress!)
            }
            var status = stat()
            guard fstatat(descriptor.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else { continue }
            items.append(Item(name: name, size: Int(status.st_size), modified: status.st_mtim.tv_sec))
        }
        return items
    }

    /// Whether nobody is writing a file, in this process or another one.
    func isUnused(_ name: String) -> Bool {
        guard let (file, _) = openRegular(name, O_RDONLY) else { return true }
        defer { close(file) }
        return flock(file, LOCK_EX | LOCK_NB) == 0
    }

    private func openRegular(_ name: String, _ flags: Int32) -> (file: Int32, status: stat)? {
        // O_NONBLOCK keeps a named pipe from blocking.
        let file = openat(descriptor.number, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return nil }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            close(file)
            return nil
        }
        return (file, status)
    }
}

// Reading.
extension PartialDirectory {
    /// Reads a file as far as it is intact.
    /// - Parameters:
    ///   - key: The key that it has to have.
    ///   - maximumByteCount: The most bytes that are kept of a body. A larger file is not one of the library's.
    ///   - oldest: The oldest date of a file that is used, in seconds since 1970.
    /// - Returns: `nil` when there is none. One that is damaged or too old is removed, unless somebody writes it.
    func read(
        _ name: String,
        key: String,
        maximumByteCount: Int,
        oldest: Double
    ) -> (head: PartialFileFormat.Head, body: Data)? {
        guard let (file, status) = openRegular(name, O_RDONLY) else { return nil }
        defer { close(file) }
        let size = Int(status.st_size)
        if Double(status.st_mtim.tv_sec) >= oldest, size <= Self.largestFile(maximumByteCount),
            let (head, start) = readHead(file), head.key == key,
            let body = readBody(file, size: size, from: start, head), !body.isEmpty,
            head.version.totalCount.map({ body.count <= $0 }) ?? true
        {
            return (head, body)
        }
        if flock(file, LOCK_EX | LOCK_NB) == 0 { remove(name) }
        return nil
    }

    /// The largest file of a body: records are full but for the last one of each transfer, which are few.
    private static func largestFile(_ byteCount: Int) -> Int {
        byteCount.boundedSum(byteCount / 8).boundedSum(PartialFileFormat.maximumHeadLength + 4096)
    }

    private func readHead(_ file: Int32) -> (head: PartialFileFormat.Head, end: Int)? {
        guard let prefix = bytes(file, at: 0, count: PartialFileFormat.prefixLength),
            let (length, checksum) = PartialFileFormat.parsePrefix(prefix),
            let json = bytes(file, at: PartialFileFormat.prefixLength, count: length),
            let head = PartialFileFormat.parseHead(json, checksum: checksum, hashes)
        else { return nil }
        return (head, PartialFileFormat.prefixLength + length)
    }

    private func bytes(_ file: Int32, at offset: Int, count: Int) -> Data? {
        var data = Data(count: count)
        let isWhole = data.withUnsafeMutableBytes { fill($0, from: file, at: offset) }
        return isWhole ? data : nil
    }

    private func fill(_ buffer: UnsafeMutableRawBufferPointer, from file: Int32, at offset: Int) -> Bool {
        var filled = 0
        while filled < buffer.count {
            let count = pread(file, buffer.baseAddress! + filled, buffer.count - filled, off_t(offset + filled))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            filled += count
        }
        return true
    }

    /// The bytes of all records up to the first that is damaged.
    private func readBody(_ file: Int32, size: Int, from start: Int, _ head: PartialFileFormat.Head) -> Data? {
        // Data(count:) would write zeros first.
        guard size > start, let memory = malloc(size - start) else { return nil }
        let length = PartialFileFormat.recordLength
        let record = UnsafeMutableRawBufferPointer.allocate(
            byteCount: length + PartialFileFormat.maximumRecordByteCount,
            alignment: 8
        )
        defer { record.deallocate() }
        var (position, count, recordCount) = (start, 0, 0)
        while let known = parseRecord(file, size: size, at: position, count: count, head) {
            let whole = UnsafeMutableRawBufferPointer(rebasing: record[..<(length + known.byteCount)])
            recordCount += 1
            guard recordCount <= PartialFileFormat.maximumRecordCount(of: count), fill(whole, from: file, at: position),
                hashes.checksum(UnsafeRawBufferPointer(rebasing: whole[4...])) == known.checksum
            else { break }
            memcpy(memory + count, whole.baseAddress! + length, known.byteCount)
            count += known.byteCount
            position += whole.count
        }
        return Data(bytesNoCopy: memory, count: count, deallocator: .free)
    }

    /// The record at a position, if it continues a body and is not cut off.
    private func parseRecord(
        _ file: Int32,
        size: Int,
        at position: Int,
        count: Int,
        _ head: PartialFileFormat.Head
    ) -> (byteCount: Int, checksum: UInt32)? {
        guard let start = bytes(file, at: position, count: PartialFileFormat.recordLength),
            let record = PartialFileFormat.parseRecord(start, at: count, serial: head.serial),
            record.byteCount <= size - position - PartialFileFormat.recordLength
        else { return nil }
        return record
    }
}

// Writing.
extension PartialDirectory {
    /// Opens the file of a body to go on with it, or makes a new one.
    /// - Parameters:
    ///   - head: What the file is to be a part of.
    ///   - fields: The header fields of the request.
    ///   - count: The bytes of the body that are known to be right; what the file has beyond is written again.
    /// - Returns: `nil` when somebody else writes the file.
    func open(_ name: String, _ head: PartialFileFormat.Head, fields: String, count: Int) throws -> PartialFile? {
        if let (file, status) = openRegular(name, O_RDWR) {
            guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
                close(file)
                return nil
            }
            if let (old, start) = readHead(file), old.key == head.key, old.version.isSame(as: head.version),
                VaryingField.isText(old.fields, of: fields)
            {
                let (known, end) = measure(file, size: Int(status.st_size), from: start, old, atMost: count)
                if ftruncate(file, off_t(end)) == 0 {
                    return PartialFile(
                        file,
                        path: "\(path)/\(name)",
                        head: old,
                        count: known,
                        size: end,
                        (hashes, files)
                    )
                }
            }
            close(file)
        }
        // What is there is of another version, damaged, or no file.
        remove(name)
        let data = try PartialFileFormat.encode(head, hashes)
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let file = openat(descriptor.number, name, flags, 0o600)
        guard file >= 0 else { throw FileError(call: "open", path: "\(path)/\(name)", number: errno) }
        let made = PartialFile(file, path: "\(path)/\(name)", head: head, count: 0, size: data.count, (hashes, files))
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else { return nil }
        do {
            try files.write(data, to: file, at: 0, path: "\(path)/\(name)")
        } catch {
            remove(name)
            throw error
        }
        return made
    }

    /// The bytes of the records up to a number of bytes, and where they end. Their checksums are looked at when they are read.
    private func measure(
        _ file: Int32,
        size: Int,
        from start: Int,
        _ head: PartialFileFormat.Head,
        atMost limit: Int
    ) -> (count: Int, end: Int) {
        var (position, count) = (start, 0)
        while let record = parseRecord(file, size: size, at: position, count: count, head),
            count + record.byteCount <= limit
        {
            count += record.byteCount
            position += PartialFileFormat.recordLength + record.byteCount
        }
        return (count, position)
    }
}
