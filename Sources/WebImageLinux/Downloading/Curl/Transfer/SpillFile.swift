internal import CWebImageGLib
import FoundationEssentials
import Glibc
import WebImageCore
import WebImageSandbox

/// A temporary file without a name. The kernel deletes it once its descriptor and all mappings are closed.
final class SpillFile {
    /// A directory on disk. /tmp may be in memory (file-hierarchy(7)).
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

    /// - Returns: Whether all bytes were written. If not, none of them count.
    func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard FileStore.allowsFile(of: count + bytes.count) else { return false }
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
        guard count > 0 else { return Data() }
        return MappedFiles.map(descriptor, byteCount: count) ?? contents
    }

    private var contents: Data {
        var data = Data(count: count)
        let readCount = data.withUnsafeMutableBytes { buffer in
            var position = 0
            while position < buffer.count {
                let result = pread(descriptor, buffer.baseAddress! + position, buffer.count - position, off_t(position))
                if result < 0, errno == EINTR { continue }
                guard result > 0 else { break }
                position += result
            }
            return position
        }
        return data.prefix(readCount)
    }
}
