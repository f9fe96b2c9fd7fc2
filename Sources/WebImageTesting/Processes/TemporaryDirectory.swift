import FoundationEssentials
import Glibc

/// A temporary directory, removed with its contents when this object is released.
package final class TemporaryDirectory: Sendable {
    /// The path without a trailing slash; empty if the directory could not be created.
    package let path: String

    package init(in parent: String = FileManager.default.temporaryDirectory.path(percentEncoded: false)) {
        var template = Array("\(parent)gwi-XXXXXX".utf8CString)
        path = mkdtemp(&template).map { String(cString: $0) } ?? ""
    }

    deinit {
        if !path.isEmpty { try? FileManager.default.removeItem(atPath: path) }
    }
}
