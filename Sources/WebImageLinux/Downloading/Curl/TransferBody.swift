internal import CWebImageGLib
import FoundationEssentials
import Glibc
import WebImageCore

/// The bytes of a body so far: in memory, and from a certain size on in a file that has no name.
struct TransferBody {
    private static let reserveLimit = 8 << 20

    private let inMemoryBodyLimit: Int
    private var memory = Data()
    private var file: SpillFile?
    private var hasFailed = false

    init(inMemoryBodyLimit: Int) {
        self.inMemoryBodyLimit = inMemoryBodyLimit
    }

    var count: Int { file?.count ?? memory.count }

    mutating func reserve(_ count: Int64) {
        memory.reserveCapacity(Int(min(count, Int64(min(inMemoryBodyLimit, Self.reserveLimit)))))
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if file == nil, !hasFailed, memory.count + bytes.count > inMemoryBodyLimit { spill() }
        if let file {
            if file.append(bytes) { return }
            // The disk is full: memory it is, after all.
            memory = file.data
            self.file = nil
            hasFailed = true
            WebImageLog.notice("A large body is kept in memory: no room in \(SpillFile.directory).")
        }
        memory.append(contentsOf: bytes)
    }

    /// All of it; that in a file is mapped, not read.
    var data: Data { file?.data ?? memory }

    private mutating func spill() {
        guard let file = SpillFile(), memory.withUnsafeBytes({ file.append($0) }) else {
            hasFailed = true
            return
        }
        self.file = file
        memory = Data()
    }
}

/// A file without a name, gone when nobody holds it any more.
private final class SpillFile {
    /// On a disk, other than /tmp, which may be memory (file-hierarchy(7)).
    static let directory = "/var/tmp"

    private let descriptor: Int32
    private(set) var count = 0

    init?() {
        var template = Array("\(Self.directory)/web-image-XXXXXX".utf8CString)
        descriptor = g_mkstemp_full(&template, O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        unlink(template)
    }

    deinit {
        close(descriptor)
    }

    /// - Returns: Whether all was written; what was written of it before that failed does not count.
    func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var written = 0
        while written < bytes.count {
            let result = pwrite(descriptor, bytes.baseAddress! + written, bytes.count - written, off_t(count + written))
            if result < 0, errno == EINTR { continue }
            guard result > 0 else { return false }
            written += result
        }
        count += bytes.count
        return true
    }

    var data: Data {
        guard count > 0, let start = mmap(nil, count, PROT_READ, MAP_SHARED, descriptor, 0), start != MAP_FAILED else {
            return Data()
        }
        return Data(bytesNoCopy: start, count: count, deallocator: .custom { munmap($0, $1) })
    }
}
