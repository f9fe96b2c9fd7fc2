import FoundationEssentials
import Glibc

/// Distinguishes the current bytes of a file from earlier ones without reading them.
package struct FileVersion: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    /// The last change of the bytes, the name or the permissions. Programs can set back the modification time, but not this one.
    private let changed: Int64
    private let changedNanoseconds: Int64

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        changed = Int64(status.st_ctim.tv_sec)
        changedNanoseconds = Int64(status.st_ctim.tv_nsec)
    }

    /// The version of the file at a path, following symbolic links; `nil` if there is no file.
    package init?(pathBytes: [UInt8]) {
        var status = stat()
        let code = (pathBytes + [0]).withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { stat($0.baseAddress!, &status) }
        }
        guard code == 0 else { return nil }
        self.init(status)
    }

    /// Whether any change after a time gives the file another version. File systems count time in steps of up to two
    /// seconds, so a file that has just changed can change again within the same step.
    func isDistinct(at time: Date) -> Bool { Double(changed) + 3 < time.timeIntervalSince1970 }

    /// The version as an entity tag (RFC 9110, 8.8.3), with its quotes.
    package var etag: String { "\"\(device)-\(inode)-\(size)-\(changed).\(changedNanoseconds)\"" }
}
