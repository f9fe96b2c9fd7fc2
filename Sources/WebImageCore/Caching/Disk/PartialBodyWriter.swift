import FoundationEssentials
import Synchronization

/// Writes one body into its file, on the thread of the store.
final class PartialBodyWriter: PartialBodyWriting {
    private enum Phase: Sendable {
        /// Nothing was written yet. The beginning of the body may be in its file.
        case new(part: Data)
        case open(PartialFile)
        /// The transfer has ended, or the file cannot be written.
        case ended
    }

    private let store: PartialBodyStore
    private let key: String
    private let version: PartialBody.Version
    private let fields: String
    /// Changed by one piece of work of the store at a time, which leaves it unlocked while it writes.
    private let phase: Mutex<Phase>
    /// Whether bytes were left out, so that later ones would leave a gap.
    private let hasGap = Mutex(false)

    init(_ store: PartialBodyStore, key: String, _ version: PartialBody.Version, fields: String, after part: Data) {
        self.store = store
        self.key = key
        self.version = version
        self.fields = fields
        phase = Mutex(.new(part: part))
    }

    func append(_ bytes: Data, at offset: Int) {
        guard !hasGap.withLock({ $0 }) else { return }
        if !store.submit(bytes.count, { self.write(bytes, at: offset) }) { hasGap.withLock { $0 = true } }
    }

    func close() {
        // The file is closed when it is released, here on the thread of the store.
        _ = store.submit(0) { _ = self.setPhase(.ended) }
    }

    func discard() {
        _ = store.submit(0) {
            switch self.setPhase(.ended) {
            // A short rest of the body may not have been written.
            case .new(let part) where !part.isEmpty: self.store.removeFile(for: self.key)
            // A file without a name is not the one that has the name now.
            case .open(let file) where file.isLinked: self.store.removeFile(for: self.key)
            case .new, .open, .ended: break
            }
        }
    }

    private func setPhase(_ phase: Phase) -> Phase { self.phase.withLock { exchange(&$0, with: phase) } }

    private func write(_ bytes: Data, at offset: Int) {
        let file: PartialFile?
        var part = Data()
        switch phase.withLock({ $0 }) {
        case .new(let known):
            part = known
            file = openFile(count: part.count)
        case .open(let known): file = known
        case .ended: return
        }
        guard let file else {
            _ = setPhase(.ended)
            return
        }
        let before = file.size
        do {
            let isOpen = file.isLinked && store.cache.mayWrite
            let goesOn = try isOpen && add(part, at: 0, to: file) && add(bytes, at: offset, to: file)
            _ = setPhase(goesOn ? .open(file) : .ended)
        } catch {
            _ = setPhase(.ended)
            store.removeFile(for: key)
            store.cache.noteFailure(error)
        }
        store.cache.noteGrowth(file.size - before)
        store.cache.trimIfNeeded()
    }

    private func openFile(count: Int) -> PartialFile? {
        guard store.cache.mayWrite else { return nil }
        do {
            return try store.openFile(for: key, version, fields: fields, count: count)
        } catch {
            store.cache.noteFailure(error)
            return nil
        }
    }

    /// - Returns: Whether more may follow.
    private func add(_ bytes: Data, at offset: Int, to file: PartialFile) throws -> Bool {
        while file.count < offset + bytes.count {
            let start = file.count - offset
            // A server that sends more than it has announced does not fill the disk. The first byte too many is kept, which
            // tells the reader that this is no part.
            let announced = version.totalCount.map { Int(clamping: $0.boundedSum(1)) } ?? .max
            let room = min(store.maximumByteCount, announced) - file.count
            guard start >= 0, room > 0 else { return false }
            let step = min(bytes.count - start, room, PartialFileFormat.maximumRecordByteCount)
            let first = bytes.startIndex + start
            try file.append(bytes[first..<first + step])
        }
        return true
    }
}
