import FoundationEssentials
import Glibc

/// A directory that is removed with the test that made it.
final class TemporaryDirectory: Sendable {
    let path: String

    init() {
        var template = Array("\(FileManager.default.temporaryDirectory.path())/gwi-test-XXXXXX".utf8CString)
        path = mkdtemp(&template).map { String(cString: $0) } ?? ""
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
