import Foundation
import Glibc
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Parts of bodies on disk")
struct PartialBodyTests {
    private let folder = TemporaryDirectory()
    private static let key = "http://host/a.jpg"
    private static let url = URL(string: key)!
    static let body = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) })

    private func makeCache(sizeLimit: Int = 1 << 30, files: any FileStoring = FileStore()) -> DiskCache {
        DiskCache(
            directory: "\(folder.path)/originals",
            limits: DiskLimits(sizeLimit: sizeLimit),
            hashes: .standard,
            files: files
        )
    }

    private func version(_ etag: String = "\"1\"", url: URL = url, count: Int? = body.count) -> PartialBody.Version {
        var metadata = ResponseMetadata(contentType: "image/jpeg")
        metadata.etag = etag
        return PartialBody.Version(
            url: url,
            metadata: metadata,
            hasStrongDate: false,
            totalCount: count.map { Int64($0) }
        )
    }

    /// Writes bytes in chunks as a transfer does.
    private func write(
        _ store: PartialBodyStore,
        _ bytes: Data,
        after part: Data = Data(),
        key: String = key,
        _ version: PartialBody.Version? = nil,
        chunk: Int = 300_000
    ) -> any PartialBodyWriting {
        let writer = store.makeWriter(for: key, version ?? self.version(), fields: "a: b", after: part)
        var start = 0
        while start < bytes.count {
            let end = min(start + chunk, bytes.count)
            writer.append(bytes[(bytes.startIndex + start)..<(bytes.startIndex + end)], at: part.count + start)
            start = end
        }
        return writer
    }

    /// Waits until everything is written.
    private func settle(_ store: PartialBodyStore) { #expect(EventLog<Int>.poll { store.pendingWorkCount == 0 }) }

    /// Writes bytes as a transfer that is interrupted.
    private func keep(
        _ store: PartialBodyStore,
        _ bytes: Data,
        key: String = key,
        _ version: PartialBody.Version? = nil
    ) {
        write(store, bytes, key: key, version).close()
        settle(store)
    }

    private func read(_ store: PartialBodyStore, _ key: String = key) -> PartialBody? {
        store.body(for: key, budget: nil)
    }

    private var parts: [String] {
        let directory = "\(folder.path)/originals/parts"
        return ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).map { "\(directory)/\($0)" }
    }

    @Test("What was written is there at the next start, with the version and for the same request only")
    func kept() throws {
        let store = PartialBodyStore(makeCache())
        #expect(read(store) == nil && parts.isEmpty)
        keep(store, Self.body.prefix(1_000_000))
        let part = try #require(read(PartialBodyStore(makeCache())))
        #expect(part.data == Self.body.prefix(1_000_000) && part.version == version())
        func isPart(_ url: URL, _ headers: [String: String]) -> Bool {
            part.isPart(ofAnswerTo: RequestModifier.Request(url: url, headers: headers))
        }
        #expect(isPart(Self.url, ["A": "b"]))
        #expect(!isPart(Self.url, ["A": "c"]) && !isPart(Self.url, [:]) && !isPart(Self.url, ["A": "b", "C": "d"]))
        #expect(!isPart(Self.url.appending(path: "b"), ["A": "b"]))
        #expect(read(store, "http://host/other.jpg") == nil)
    }

    @Test("A later transfer goes on with the file, and one that is complete removes it")
    func continued() throws {
        let store = PartialBodyStore(makeCache())
        keep(store, Self.body.prefix(700_000))
        let part = try #require(read(store)).data
        let writer = write(store, Self.body[700_000..<2_500_000], after: part)
        settle(store)
        // The process may end here.
        #expect(read(store)?.data == Self.body.prefix(2_500_000))
        writer.discard()
        settle(store)
        #expect(read(store) == nil && parts.isEmpty)
        // What is in memory may be less or more than what is on disk.
        for count in [100_000, 400_000, 900_000] {
            keep(store, Self.body.prefix(700_000))
            let known = Data(Self.body.prefix(count))
            write(store, Self.body[count..<count + 50_000], after: known).close()
            settle(store)
            #expect(read(store)?.data == Self.body.prefix(count + 50_000))
        }
    }

    @Test("A body that is complete before its rest was written leaves no part behind")
    func shortRest() throws {
        let store = PartialBodyStore(makeCache())
        keep(store, Self.body.prefix(700_000))
        // Given another start of the app, and a rest that is too short to be written
        let next = PartialBodyStore(makeCache())
        let part = try #require(read(next)).data
        let writer = next.makeWriter(for: Self.key, version(), fields: "a: b", after: part)
        writer.discard()
        settle(next)
        #expect(read(next) == nil && parts.isEmpty)
        // One that began anew, without a part, knows of no file.
        keep(store, Self.body.prefix(700_000))
        store.makeWriter(for: Self.key, version(), fields: "a: b", after: Data()).discard()
        settle(store)
        #expect(parts.count == 1)
    }

    @Test("Another version takes the place of the one before")
    func replaced() throws {
        let store = PartialBodyStore(makeCache())
        let other = Data(Self.body.reversed())
        let elsewhere = Self.url.appending(path: "b")
        for version in [version("\"2\""), version(url: elsewhere), version(count: 2_999_999), version(count: nil)] {
            keep(store, Self.body.prefix(700_000))
            keep(store, other.prefix(300_000), version)
            #expect(read(store)?.data == other.prefix(300_000) && read(store)?.version == version)
            #expect(parts.count == 1)
        }
    }

    @Test("A body that is whole is requested from its last byte on")
    func whole() throws {
        let store = PartialBodyStore(makeCache())
        keep(store, Self.body)
        #expect(read(store)?.data == Self.body.dropLast())
    }

    @Test("Two processes never write one file, and the second goes on once the first is gone")
    func shared() throws {
        let (first, second) = (PartialBodyStore(makeCache()), PartialBodyStore(makeCache()))
        let writer = write(first, Self.body.prefix(600_000))
        settle(first)
        keep(second, Self.body.prefix(900_000), version("\"2\""))
        #expect(read(second)?.data == Self.body.prefix(600_000) && read(second)?.version == version())
        writer.append(Self.body[600_000..<900_000], at: 600_000)
        settle(first)
        #expect(read(second)?.data == Self.body.prefix(900_000))
        writer.close()
        settle(first)
        keep(second, Self.body.prefix(950_000), version("\"2\""))
        #expect(read(first)?.data == Self.body.prefix(950_000) && read(first)?.version == version("\"2\""))
    }

    @Test("A body that is longer than the server has announced neither fills the disk nor is a part")
    func announced() throws {
        let store = PartialBodyStore(makeCache())
        keep(store, Self.body, version(count: 1_000_000))
        let sizes = try parts.map { try FileManager.default.attributesOfItem(atPath: $0)[.size] as? Int ?? .max }
        #expect(sizes.count == 1 && sizes.allSatisfy { $0 < 1_100_000 }, "\(sizes)")
        #expect(read(store) == nil)
    }

    @Test("The files have a limit of bytes and of their number, and those in use and the newest stay")
    func bounded() throws {
        let store = PartialBodyStore(makeCache(sizeLimit: 8 << 20))
        #expect(store.maximumByteCount == 2 << 20)
        // A body has no more than all of them.
        keep(store, Self.body)
        #expect(read(store)?.data == Self.body.prefix(2 << 20))
        let writer = write(store, Self.body.prefix(500_000), key: "in use", version(count: 600_000))
        settle(store)
        for number in 0..<5 {
            keep(store, Self.body.prefix(600_000), key: "\(number)", version(count: 1 << 20))
            for path in parts { age(path, by: 10) }
        }
        #expect(read(store) == nil && read(store, "0") == nil && read(store, "in use") != nil)
        #expect(read(store, "4") != nil)
        writer.close()
        let large = PartialBodyStore(makeCache())
        for number in 0..<70 {
            keep(large, Self.body.prefix(1000), key: "small \(number)", version(count: 1 << 20))
            for path in parts { age(path, by: 1) }
        }
        #expect(parts.count == 50 && read(large, "small 69") != nil && read(large, "small 0") == nil)
    }

    /// Makes a file older.
    private func age(_ path: String, by seconds: Int) {
        var status = stat()
        stat(path, &status)
        let time = timespec(tv_sec: status.st_mtim.tv_sec - seconds, tv_nsec: 0)
        utimensat(AT_FDCWD, path, [time, time], 0)
    }

    @Test("A file that is too old is removed, and the cache counts, removes, empties and moves the files")
    func inCache() async throws {
        let cache = makeCache()
        let store = PartialBodyStore(cache)
        keep(store, Self.body.prefix(400_000))
        #expect(cache.usage.count == 0 && cache.usage.byteCount >= 400_000)
        age(try #require(parts.first), by: 604_801)
        #expect(read(store) == nil && parts.isEmpty)
        keep(store, Self.body.prefix(400_000))
        cache.remove(Self.key)
        #expect(parts.isEmpty)
        let writer = write(store, Self.body.prefix(400_000))
        settle(store)
        cache.removeAll()
        writer.append(Self.body[400_000..<800_000], at: 400_000)
        writer.close()
        settle(store)
        #expect(parts.isEmpty && cache.failureCount == 0)
        // Another file that has the name meanwhile is not that of the writer.
        let old = write(store, Self.body.prefix(400_000))
        settle(store)
        cache.removeAll()
        keep(store, Self.body.prefix(500_000), version("\"2\""))
        old.discard()
        settle(store)
        #expect(read(store)?.data.count == 500_000)
        // It is trimmed like an entry.
        age(try #require(parts.first), by: 700_000)
        cache.removeExpired()
        #expect(parts.isEmpty)
    }

    @Test("A full disk, one that writes too little and one that is read-only keep nobody waiting, and no wrong bytes")
    func faulty() throws {
        /// A file system one of whose writes has a fault.
        func files(_ number: Int, _ fault: FaultyStore.Fault) -> FaultyStore {
            let writes = EventLog<Int>()
            return FaultyStore { call, _ in
                guard call == "pwrite" else { return nil }
                writes.add(1)
                return writes.all.count == number ? fault : nil
            }
        }
        for failing in 1...4 {
            let store = PartialBodyStore(makeCache(files: files(failing, .fails(ENOSPC))))
            keep(store, Self.body)
            #expect(read(store) == nil && store.cacheFailureCount == 1, "\(failing)")
            // Nothing is written for a minute.
            keep(store, Self.body)
            #expect(parts.isEmpty && store.cacheFailureCount == 1)
        }
        for short in 2...4 {
            let store = PartialBodyStore(makeCache(files: files(short, .isShort)))
            keep(store, Self.body)
            #expect(read(store).map { Self.body.starts(with: $0.data) } ?? true, "\(short)")
            makeCache().removeAll()
        }
        // A directory cannot be made below a file.
        let file = "\(folder.path)/file"
        try Data().write(to: URL(filePath: file))
        let cache = DiskCache(directory: "\(file)/originals", limits: DiskLimits(sizeLimit: 1 << 30), hashes: .standard)
        let store = PartialBodyStore(cache)
        keep(store, Self.body)
        #expect(read(store) == nil && cache.failureCount > 0)
    }

    @Test("A disk that is slower than the network gets no more than waits for it, and the beginning stays")
    func slow() throws {
        let gate = Gate()
        gate.close()
        let store = PartialBodyStore(
            makeCache(files: FaultyStore { call, _ in call == "pwrite" ? .waits { gate.wait() } : nil })
        )
        let large = Data(count: 40 << 20)
        let start = ContinuousClock.now
        let writer = write(store, large, version(count: large.count), chunk: 1 << 20)
        writer.close()
        #expect(ContinuousClock.now - start < .seconds(5) && store.pendingWorkCount < 12)
        gate.open()
        settle(store)
        let count = try #require(read(store)).data.count
        #expect(count > 0 && count <= 8 << 20)
    }
}

extension PartialBodyStore {
    fileprivate var cacheFailureCount: Int { cache.failureCount }
}
