internal import CWebImageSandboxShims
package import FoundationEssentials
import Glibc
import Synchronization

/// The unnamed files that this process has mapped, with their descriptors. A decode worker maps the same file instead
/// of copying its bytes.
package enum MappedFiles {
    private struct File {
        let descriptor: Int32
        let byteCount: Int
    }

    /// The files by the addresses of their bytes.
    private static let files = Mutex<[UInt: File]>([:])
    /// The largest number of descriptors to keep, a part of the limit of the process: transfers and the app need some as well.
    private static let mostDescriptors: Int = {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 16 }
        return min(Int(clamping: limit.rlim_cur) / 8, 128)
    }()

    /// Maps a file for reading.
    /// - Parameter descriptor: The file, which the caller still owns.
    /// - Returns: `nil` if it cannot be mapped, because mappings and addresses of a process are limited.
    package static func map(_ descriptor: Int32, byteCount: Int) -> Data? {
        mapped(descriptor, byteCount: byteCount)?.data
    }

    private static func mapped(_ descriptor: Int32, byteCount: Int) -> (data: Data, isKept: Bool)? {
        // Before Linux 6.7, a sealed file cannot be mapped as shared. Pages that are not written to are shared anyway.
        guard byteCount > 0, let start = mmap(nil, byteCount, PROT_READ, MAP_PRIVATE, descriptor, 0),
            start != MAP_FAILED
        else { return nil }
        let isKept = keepDescriptor(of: descriptor, at: start, byteCount: byteCount)
        let data = Data(bytesNoCopy: start, count: byteCount, deallocator: .custom { forget($0, byteCount: $1) })
        return (data, isKept)
    }

    /// Copies bytes into a memory file that cannot be changed.
    /// - Returns: `nil` if there is no memory, or if so many files are mapped that the copy would gain nothing.
    static func copy(_ data: Data) -> Data? {
        guard files.withLock({ $0.count < mostDescriptors }) else { return nil }
        let descriptor = data.withUnsafeBytes { bytes in
            var part = gwi_bytes(start: bytes.baseAddress, size: bytes.count)
            return gwi_memory_file(&part, 1)
        }
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return mapped(descriptor, byteCount: data.count).flatMap { $0.isKept ? $0.data : nil }
    }

    /// The descriptor of the file that is mapped as these bytes, valid as long as the bytes are; `nil` for other bytes.
    static func descriptor(of data: Data) -> Int32? {
        data.withUnsafeBytes { bytes in
            let file = files.withLock { $0[UInt(bitPattern: bytes.baseAddress)] }
            return file.flatMap { $0.byteCount == bytes.count ? $0.descriptor : nil }
        }
    }

    private static func keepDescriptor(
        of descriptor: Int32,
        at start: UnsafeMutableRawPointer,
        byteCount: Int
    ) -> Bool {
        // Processes that get the descriptor must not be able to write to a file on disk. A memory file is sealed.
        let readable = open("/proc/self/fd/\(descriptor)", O_RDONLY | O_CLOEXEC)
        guard readable >= 0 else { return false }
        let isKept = files.withLock { files in
            guard files.count < mostDescriptors else { return false }
            files[UInt(bitPattern: start)] = File(descriptor: readable, byteCount: byteCount)
            return true
        }
        if !isKept { close(readable) }
        return isKept
    }

    private static func forget(_ start: UnsafeMutableRawPointer, byteCount: Int) {
        // After munmap, another file may be mapped at this address at once.
        let file = files.withLock { $0.removeValue(forKey: UInt(bitPattern: start)) }
        if let file { close(file.descriptor) }
        munmap(start, byteCount)
    }
}
