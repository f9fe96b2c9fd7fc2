import FoundationEssentials
import Glibc

/// A directory of its own that is removed, with all that is in it, when this is dropped.
package final class TemporaryDirectory: Sendable {
    /// Without a slash at the end; empty when none could be made.
    package let path: String

    package init() {
        var template = Array("\(FileManager.default.temporaryDirectory.path())gwi-XXXXXX".utf8CString)
        path = mkdtemp(&template).map { String(cString: $0) } ?? ""
    }

    deinit {
        if !path.isEmpty { try? FileManager.default.removeItem(atPath: path) }
    }
}
