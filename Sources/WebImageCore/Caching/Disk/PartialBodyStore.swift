package import FoundationEssentials
import Synchronization

/// Keeps the parts of large bodies that have arrived, in the directory of the cache of originals, so that their transfers go on after
/// the next start of the app, however this one ends.
///
/// The files count in the limit of the cache and are removed like its entries. Several processes may share the directory: one of them
/// writes a file at a time. What cannot be written is not kept, and no load waits for it.
package final class PartialBodyStore: PartialBodyKeeping {
    /// The most files. Those that were written last are kept.
    private static let maximumCount = 50
    /// The most bytes of all files, and the share of the cache that they may take.
    private static let maximumTotalByteCount = 64 << 20
    private static let share = 4
    /// The bytes that may wait to be written, unless they are those of one piece of work. Further ones are not kept: the disk is slower
    /// than the network.
    private static let pendingLimit = 8 << 20

    package let minimumByteCount = 1 << 20

    package let cache: DiskCache
    private let queue: WorkQueue
    private let pendingByteCount = Mutex(0)

    /// - Parameters:
    ///   - cache: The cache in whose directory the files are.
    ///   - queue: Writes the files, one after the other.
    package init(
        _ cache: DiskCache,
        queue: WorkQueue = WorkQueue(name: "gwi-parts", threadCount: 1)
    ) {
        self.cache = cache
        self.queue = queue
    }

    package var maximumByteCount: Int { min(cache.limits.sizeLimit / Self.share, Self.maximumTotalByteCount) }

    private var directory: String { "\(cache.directory)/\(DiskCacheLayout.partialName)" }

    private func open(makes: Bool) throws -> PartialDirectory? {
        try PartialDirectory(directory, makes: makes, hashes: cache.hashes, files: cache.files)
    }

    private func name(_ key: String) -> String { cache.hashes.name(key) }

    /// The number of pieces of work that wait or run, for tests.
    package var pendingWorkCount: Int { queue.pendingCount }

    /// The part of a body that is kept; `nil` when there is none. It reads the disk.
    /// - Parameter budget: Counts the bytes as long as they are in memory.
    package func body(for key: String, budget: MemoryBudget?) -> PartialBody? {
        guard let directory = try? open(makes: false) else { return nil }
        let oldest = cache.now() - cache.limits.maximumAge
        guard
            let (head, bytes) = directory.read(
                name(key),
                key: key,
                maximumByteCount: maximumByteCount,
                oldest: oldest
            )
        else { return nil }
        // A server sends no rest of a body that is whole, so that the last byte is requested again.
        let isWhole = head.version.totalCount == Int64(bytes.count)
        let reservation = budget?.arrivingBody()
        reservation?.byteCount = bytes.count
        return PartialBody(
            data: isWhole ? bytes.dropLast() : bytes,
            version: head.version,
            fields: head.fields,
            reservation: reservation
        )
    }

    package func makeWriter(
        for key: String,
        _ version: PartialBody.Version,
        fields: String,
        after part: Data
    ) -> any PartialBodyWriting {
        PartialBodyWriter(self, key: key, version, fields: fields, after: part)
    }

    package func remove(_ key: String) {
        queue.submit(priority: .veryLow) { try? self.open(makes: false)?.remove(self.name(key)) }
    }
}

// What writers call.
extension PartialBodyStore {
    /// Runs work of a writer, one piece after the other.
    /// - Parameter byteCount: The bytes that it writes.
    /// - Returns: `false` when too many bytes wait already.
    func submit(_ byteCount: Int, _ work: @escaping @Sendable () -> Void) -> Bool {
        let isAccepted = pendingByteCount.withLock { pending in
            guard pending == 0 || byteCount == 0 || pending + byteCount <= Self.pendingLimit else { return false }
            pending += byteCount
            return true
        }
        guard isAccepted else { return false }
        queue.submit {
            work()
            self.pendingByteCount.withLock { $0 -= byteCount }
        }
        return true
    }

    /// Opens the file of a body, after there is room for it.
    func openFile(
        for key: String,
        _ version: PartialBody.Version,
        fields: String,
        count: Int
    ) throws -> PartialFile? {
        guard let directory = try open(makes: true) else { return nil }
        cache.limits.measure()
        let name = name(key)
        makeRoom(for: version, in: directory, besides: name)
        let head = PartialFileFormat.Head(
            key: key,
            version: version,
            fields: VaryingField.text(for: fields),
            serial: .random(in: 0 ... .max)
        )
        return try directory.open(name, head, fields: fields, count: count)
    }

    func removeFile(for key: String) { try? open(makes: false)?.remove(name(key)) }

    /// Removes the files that were written longest ago until one more has room.
    private func makeRoom(for version: PartialBody.Version, in directory: PartialDirectory, besides name: String) {
        let items = directory.items.filter { $0.name != name }.sorted { $0.modified > $1.modified }
        var count = 1
        var size = version.totalCount.map { Int(clamping: $0) } ?? maximumByteCount / 2
        size = min(size, maximumByteCount)
        for item in items {
            count += 1
            size = size.boundedSum(item.size)
            guard count > Self.maximumCount || size > maximumByteCount, directory.isUnused(item.name) else { continue }
            directory.remove(item.name)
            size -= item.size
            count -= 1
        }
    }
}
