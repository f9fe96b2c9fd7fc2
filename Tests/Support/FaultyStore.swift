package import FoundationEssentials
import Synchronization
package import WebImageCore

/// A file system in front of the real one whose calls fail, are cut short or hang as a test commands.
package final class FaultyStore: FileStoring {
    /// A fault of a call.
    package enum Fault: Sendable {
        /// The call fails with this error number.
        case fails(Int32)
        /// The call reads or writes only a part without an error.
        case isShort
        /// The call waits until the gate is opened.
        case waits(@Sendable () -> Void)
    }

    private let store = FileStore()
    private let fault: @Sendable (_ call: String, _ number: Int) -> Fault?
    private let count = Mutex(0)

    /// - Parameter fault: Returns the fault of a call, given its name and its number.
    package init(_ fault: @escaping @Sendable (_ call: String, _ number: Int) -> Fault?) {
        self.fault = fault
    }

    /// The number of calls so far.
    package var callCount: Int { count.withLock { $0 } }

    /// - Returns: Whether the call is to be cut short.
    private func meet(_ call: String, _ path: String) throws -> Bool {
        let number = count.withLock { count in
            count += 1
            return count
        }
        switch fault(call, number) {
        case nil: return false
        case .isShort: return true
        case .fails(let number): throw FileError(call: call, path: path, number: number)
        case .waits(let wait):
            wait()
            return false
        }
    }

    package func read(_ path: String, maximumByteCount: Int) throws -> Data {
        let isShort = try meet("read", path)
        let data = try store.read(path, maximumByteCount: maximumByteCount)
        return isShort ? data.prefix(data.count / 2) : data
    }

    package func readTail(_ path: String, byteCount: Int) throws -> (Data, size: Int) {
        let isShort = try meet("read", path)
        let (data, size) = try store.readTail(path, byteCount: byteCount)
        return (isShort ? data.prefix(data.count / 2) : data, size)
    }

    package func exists(_ path: String) -> Bool { store.exists(path) }

    package func write(_ pieces: [Data], to path: String, keepsDate: Bool) throws {
        let isShort = try meet("write", path)
        let whole = Data(pieces.joined())
        try store.write([isShort ? whole.prefix(whole.count / 2) : whole], to: path, keepsDate: keepsDate)
    }

    package func remove(_ path: String) throws {
        if try !meet("unlink", path) { try store.remove(path) }
    }

    package func touch(_ path: String) {
        if let isShort = try? meet("utimensat", path), !isShort { store.touch(path) }
    }

    package func files(below directory: String) -> [StoredFile] {
        guard let isShort = try? meet("readdir", directory) else { return [] }
        let files = store.files(below: directory)
        return isShort ? Array(files.prefix(files.count / 2)) : files
    }

    package func paths(in directory: String, prefix: String) -> [String] {
        guard let isShort = try? meet("readdir", directory) else { return [] }
        let paths = store.paths(in: directory, prefix: prefix)
        return isShort ? Array(paths.prefix(paths.count / 2)) : paths
    }

    package func removeTree(_ directory: String) throws {
        if try !meet("rmdir", directory) { try store.removeTree(directory) }
    }
}
