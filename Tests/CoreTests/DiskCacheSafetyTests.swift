import Foundation
import Glibc
import Synchronization
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("The disk cache under faults", .blocking, .serialized)
struct DiskCacheSafetyTests {
    private let directory = TemporaryDirectory()

    private var path: String { directory.path + "/cache" }

    private func cache(
        limit: Int = 1 << 30,
        store: any FileStoring = FileStore(),
        now: @escaping @Sendable () -> Double = { Date().timeIntervalSince1970 }
    ) -> DiskCache {
        DiskCache(directory: path, limits: DiskLimits(sizeLimit: limit), hashes: .standard, files: store, now: now)
    }

    private func entry(_ key: String, _ count: Int = 1000) -> CacheEntry {
        let data = TestBytes.stepping(by: 31, from: key.utf8.count, count: count)
        return CacheEntry(key: key, data: data, storedAt: .distantPast)
    }

    private func numbers(_ output: String) -> [String: Int] {
        let words = output.split { $0 == " " || $0 == "\n" }.map(String.init)
        return Dictionary(zip(words, words.dropFirst()).compactMap { name, number in Int(number).map { (name, $0) } }) {
            $1
        }
    }

    @Test("Two processes that store, read, remove and trim 5,000 keys see no wrong entry and no error beyond a miss")
    func twoProcesses() throws {
        // The limit is below the size of all entries, so that both processes trim.
        let outputs = EventLog<String>()
        let (program, path) = (BuiltProgram.path("CacheWorker"), path)
        for _ in 0..<2 {
            let thread = Thread {
                let result = try? ChildProcess.run(program, [path, "8", "5000", "16000000"])
                outputs.add(result?.output ?? "")
            }
            thread.start()
        }
        #expect(outputs.wait(atMost: .seconds(300)) { $0.count == 2 })
        for output in outputs.all {
            let counts = numbers(output)
            #expect(counts["wrong"] == 0 && counts["failures"] == 0, "\(output)")
            #expect(counts["hits"] ?? 0 > 100 && counts["stored"] ?? 0 > 100, "\(output)")
        }
        // Each process counts the entries that it knows, so two of them may exceed the limit by what one writes between its scans.
        #expect(cache().usage.byteCount <= 2 * 16_000_000)
    }

    @Test("What was loaded just before the process exits is on disk")
    func exits() throws {
        let result = try ChildProcess.run(BuiltProgram.path("CacheWorker"), [path])
        #expect(result.exitCode == 0, "\(result.output)")
        let reader = cache()
        #expect((0..<50).allSatisfy { reader.entry(for: "http://host/\($0).gif") != nil })
    }

    @Test("A process that is killed 200 times at any point leaves entries that are whole or absent")
    func killed() throws {
        let program = BuiltProgram.path("CacheWorker")
        // The time that a process takes to start and to end on this machine
        let start = try ContinuousClock().measure {
            _ = try ChildProcess.run(program, [path, "0", "60", "1000000000"])
        }
        for _ in 0..<200 {
            let time = start / .seconds(1) * 0.7 + Double.random(in: 0...0.06)
            let result = try ChildProcess.run(program, [path, "10", "60", "1000000000"], seconds: time)
            #expect(result.signal == SIGKILL, "\(result.output)")
        }
        // Incomplete files have temporary names, so none stands in the place of an entry.
        let files = FileStore().files(below: path)
        #expect(files.count > 20)
        let reader = cache()
        var found = 0
        for number in 0..<60 {
            let key = "http://host/\(number).jpg"
            let exists = reader.contains(key)
            let entry = reader.entry(for: key)
            #expect(exists == (entry != nil))
            if let entry { #expect(entry.response.etag == "\(number)") }
            found += entry == nil ? 0 : 1
        }
        #expect(found > 20)
    }

    @Test("On a full tmpfs of 1 MB the cache keeps working with the entries that fit", .enabled(if: Self.canMount))
    func fullDisk() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let script = "mount -t tmpfs -o size=1m none '\(path)' && exec \"$0\" '\(path)' 0 400 100000000 4000"
        let command = ["--user", "--map-root-user", "--mount", "sh", "-c", script, BuiltProgram.path("CacheWorker")]
        let result = try ChildProcess.run("unshare", command)
        let counts = numbers(result.output)
        #expect(counts["wrong"] == 0 && counts["failures"] ?? 0 > 0 && counts["hits"] ?? 0 > 0, "\(result.output)")
    }

    @Test(
        "Where files may have only a kilobyte (ulimit -f) the cache keeps what fits, and the process lives",
        .disabled(if: getenv("THREAD_SANITIZER") != nil, "ThreadSanitizer needs larger files itself")
    )
    func fileSizeLimit() throws {
        let command = ["-c", "ulimit -f 1 && exec \"$0\" '\(path)' 1 200 100000000", BuiltProgram.path("CacheWorker")]
        let result = try ChildProcess.run("bash", command)
        let counts = numbers(result.output)
        #expect(result.signal == nil && counts["wrong"] == 0, "\(result.output)")
        #expect(counts["failures"] ?? 0 > 0 && counts["hits"] ?? 0 > 0, "\(result.output)")
    }

    @Test("Entries that a clock in the future has left are evicted before those of today")
    func filesFromTheFuture() {
        let cache = cache(limit: 100_000)
        for number in 0..<4 { cache.store(entry("future\(number)", 20_000)) }
        cache.flush()
        let nextYear = timespec(tv_sec: time(nil) + 365 * 86_400, tv_nsec: 0)
        for file in FileStore().files(below: path) { utimensat(AT_FDCWD, file.path, [nextYear, nextYear], 0) }
        // When more is stored than there is room for
        for number in 0..<3 { cache.store(entry("today\(number)", 20_000)) }
        cache.flush()
        // Then the oldest go that nobody can date
        #expect((0..<3).allSatisfy { cache.contains("today\($0)") })
        #expect(!(0..<4).allSatisfy { cache.contains("future\($0)") })
    }

    private static let canMount: Bool = {
        let test = ["--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
        return (try? ChildProcess.run("unshare", test))?.exitCode == 0
    }()

    @Test("On a full disk the cache removes half of its entries and writes nothing for a minute")
    func noRoom() {
        let isFull = Mutex(false)
        let store = FaultyStore { call, _ in
            call == "write" && isFull.withLock { $0 } ? .fails(ENOSPC) : nil
        }
        let time = Mutex(Date().timeIntervalSince1970)
        let cache = cache(store: store) { time.withLock { $0 } }
        for number in 0..<20 { cache.store(entry("\(number)", 20_000)) }
        cache.flush()
        let before = cache.usage.byteCount
        isFull.withLock { $0 = true }
        cache.store(entry("more"))
        cache.flush()
        #expect(cache.failureCount == 1)
        #expect(cache.usage.byteCount <= before / 2 + 24_576)
        let calls = store.callCount
        isFull.withLock { $0 = false }
        cache.store(entry("too soon"))
        cache.flush()
        #expect(cache.entry(for: "too soon") == nil && store.callCount == calls + 1)
        time.withLock { $0 += 61 }
        cache.store(entry("later"))
        cache.flush()
        #expect(cache.entry(for: "later") != nil)
    }

    @Test("A clock that is set back does not make the pause of a full disk longer")
    func clockDuringPause() {
        let isFull = Mutex(true)
        let store = FaultyStore { call, _ in
            call == "write" && isFull.withLock { $0 } ? .fails(ENOSPC) : nil
        }
        // Given a clock that is a day ahead
        let time = Mutex(Date().timeIntervalSince1970 + 86_400)
        let cache = cache(store: store) { time.withLock { $0 } }
        cache.store(entry("more"))
        cache.flush()
        isFull.withLock { $0 = false }
        time.withLock { $0 -= 86_400 }
        cache.store(entry("later"))
        cache.flush()
        #expect(cache.entry(for: "later") != nil)
    }

    @Test(
        "When any system call fails, is cut short or is slow, no entry is wrong and no work piles up",
        arguments: ["read", "write", "unlink", "utimensat", "readdir", "rmdir"]
    )
    func faults(call: String) {
        for kind in 0..<3 {
            let store = FaultyStore { name, number in
                guard name == call, number % 2 == 0 || kind == 2 else { return nil }
                return [.fails(EIO), .isShort, .fails(EACCES)][kind]
            }
            let cache = cache(limit: 40_000, store: store)
            for number in 0..<100 {
                let key = "\(number % 20)"
                cache.store(entry(key, 500 + number % 20))
                if number % 3 == 0 { cache.flush() }
                if number % 10 == 0 { cache.remove(key) }
                if let found = cache.entry(for: key) { #expect(found == entry(key, 500 + number % 20)) }
                _ = cache.metadata(for: key)
            }
            cache.flush()
            cache.removeExpired()
            cache.removeAll()
        }
    }

    @Test("A hanging read blocks neither other reads nor writes")
    func slow() {
        let (gate, held) = (EventLog<Int>(), EventLog<Int>())
        let store = FaultyStore { call, number in
            guard call == "read", number == 1 else { return nil }
            return .waits {
                held.add(1)
                gate.wait { !$0.isEmpty }
            }
        }
        let cache = cache(store: store)
        let ended = EventLog<Bool>()
        Thread { ended.add(cache.entry(for: "slow") == nil) }.start()
        held.wait { !$0.isEmpty }
        cache.store(entry("a"))
        #expect(cache.entry(for: "a") != nil)
        cache.flush()
        #expect(cache.entry(for: "a") != nil)
        #expect(ended.all.isEmpty)
        gate.add(1)
        #expect(ended.wait { $0 == [true] })
    }

    @Test("With a disk slower than the network, pending writes stay within their memory limit")
    func backlog() {
        let cache = cache()
        for number in 0..<100 { cache.store(entry("\(number)", 1 << 20)) }
        let staged = (0..<100).count { cache.contains("\($0)") }
        #expect((32...64).contains(staged))
        cache.flush()
        #expect(cache.usage.count == staged)
    }

    @Test("A read-only directory, an inaccessible one and a file in its place are caches that miss")
    func unusable() throws {
        try Data().write(to: URL(filePath: path))
        for path in [path, "/proc/self/nowhere", "/dev/null/cache"] {
            let cache = DiskCache(directory: path, limits: DiskLimits(sizeLimit: 1 << 20), hashes: .standard)
            cache.store(entry("a"))
            cache.flush()
            #expect(cache.entry(for: "a") == nil && cache.usage == CacheUsage(maximumByteCount: 1 << 20))
            cache.remove("a")
            cache.removeExpired()
        }
    }

    @Test("A clock that is set back, or far ahead for a while, neither removes new entries nor keeps them forever")
    func clock() {
        let time = Mutex(Date().timeIntervalSince1970)
        let cache = cache { time.withLock { $0 } }
        cache.store(entry("a"))
        cache.flush()
        time.withLock { $0 -= 10 * 365 * 86400 }
        cache.removeExpired()
        cache.store(entry("b"))
        cache.flush()
        #expect(cache.entry(for: "a") != nil && cache.entry(for: "b") != nil)
        time.withLock { $0 += 20 * 365 * 86400 }
        cache.removeExpired()
        #expect(cache.usage.count == 0)
    }

    @Test("A key of any length and content has a file name")
    func keys() {
        let cache = cache()
        let keys = [
            "", "a", String(repeating: "x", count: 100_000), "http://h/\u{0}/../../etc/passwd", "http://h/ü 🦊.jpg",
            "http://h/a.\(String(repeating: "j", count: 300))", "..", "/", "http://h/a\n.png",
        ]
        for key in keys { cache.store(entry(key)) }
        cache.flush()
        for key in keys {
            #expect(cache.entry(for: key) == entry(key))
            #expect(cache.filePath(for: key).hasPrefix(path + "/") && !cache.filePath(for: key).contains(".."))
        }
        #expect(cache.usage.count == keys.count)
    }

    @Test("The size stays within a tenth of the limit while 10,000 entries are stored without a pause")
    func limit() {
        let cache = cache(limit: 4_000_000)
        var largest = 0
        for number in 0..<10_000 {
            cache.store(entry("\(number)", 3_000))
            if number % 4 == 0 { cache.flush() }
            if number % 100 == 0 { largest = max(largest, cache.usage.byteCount) }
        }
        cache.flush()
        #expect(largest <= 4_400_000 && largest > 3_000_000, "\(largest)")
        #expect(cache.entry(for: "9999") != nil && cache.entry(for: "0") == nil)
    }

    @Test("A file that is too large for an entry is removed without being read")
    func hugeFile() throws {
        let cache = cache()
        cache.store(entry("a"))
        cache.flush()
        let file = cache.filePath(for: "a")
        // A sparse file that takes no room on disk
        #expect(truncate(file, off_t(3) << 30) == 0)
        let before = residentBytes
        #expect(cache.entry(for: "a") == nil && !FileManager.default.fileExists(atPath: file))
        #expect(residentBytes - before < 200 << 20)
    }

    @Test("A file that claims metadata of gigabytes is damaged, and not read to find out")
    func hugeMetadata() throws {
        let cache = cache()
        cache.store(entry("a"))
        cache.flush()
        let file = cache.filePath(for: "a")
        let footer = try Data(contentsOf: URL(filePath: file)).suffix(CacheEntryFile.footerLength)
        let size = 3 << 30
        var forged = Data(footer)
        for (offset, number) in [(0, UInt64(0)), (8, UInt64(size - CacheEntryFile.footerLength))] {
            withUnsafeBytes(of: number.littleEndian) { bytes in
                let start = forged.startIndex + offset
                forged.replaceSubrange(start..<(start + 8), with: bytes)
            }
        }
        #expect(truncate(file, off_t(size - forged.count)) == 0)
        let handle = try FileHandle(forWritingTo: URL(filePath: file))
        try handle.seekToEnd()
        try handle.write(contentsOf: forged)
        try handle.close()
        let before = residentBytes
        #expect(cache.metadata(for: "a") == nil)
        #expect(residentBytes - before < 200 << 20)
    }

    private var residentBytes: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
    }

    @Test("An entry whose file was replaced by a directory is cached again")
    func directoryInPlace() throws {
        let cache = cache()
        let file = cache.filePath(for: "a")
        for inner in ["", "/inner"] {
            try FileManager.default.createDirectory(atPath: file + inner, withIntermediateDirectories: true)
            #expect(cache.entry(for: "a") == nil)
            cache.store(entry("a"))
            cache.flush()
            #expect(cache.entry(for: "a") == entry("a"))
            try FileManager.default.removeItem(atPath: file)
        }
    }

    @Test("Tiny entries that wait for the disk count with their keys and metadata")
    func tinyEntries() {
        let cache = cache()
        let key = String(repeating: "k", count: 1000)
        for number in 0..<40_000 { cache.store(entry("\(key)\(number)", 1)) }
        let staged = (0..<40_000).count { cache.contains("\(key)\($0)") }
        #expect((10_000...20_000).contains(staged), "\(staged)")
    }

    @Test("Entries that wait for the disk count with every field of their responses", arguments: 0..<5)
    func longFields(field: Int) {
        let cache = cache()
        let text = String(repeating: "t", count: 100_000)
        for number in 0..<1000 {
            var entry = entry("\(number)", 1)
            switch field {
            case 0: entry.response.contentType = text
            case 1: entry.response.etag = text
            case 2: entry.response.lastModified = text
            case 3: entry.response.cacheControl = text
            default: entry.response.vary = ["cookie": text]
            }
            cache.store(entry)
        }
        // Each is there once in memory, and once more while it is written.
        let staged = (0..<1000).count { cache.contains("\($0)") }
        #expect((300...340).contains(staged), "\(staged)")
    }

    @Test("A search follows no symbolic links and goes no deeper than a cache does")
    func search() throws {
        let manager = FileManager.default
        let outside = directory.path + "/outside"
        let deep = path + (0..<200).map { "/\($0)" }.joined()
        for folder in [outside, path + "/ab", deep] {
            try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        for file in [outside + "/theirs", path + "/ab/ours", deep + "/far"] {
            try Data([1]).write(to: URL(filePath: file))
        }
        try manager.createSymbolicLink(atPath: path + "/link", withDestinationPath: outside)
        #expect(FileStore().files(below: path).map(\.path) == [path + "/ab/ours"])
        // The directory itself may be below a link that the app has chosen.
        try manager.createSymbolicLink(atPath: directory.path + "/alias", withDestinationPath: path)
        #expect(FileStore().files(below: directory.path + "/alias/ab").count == 1)
        #expect(FileStore().files(below: directory.path + "/alias").isEmpty)
    }

    @Test("Files that are not the library's are neither counted nor removed")
    func foreignFiles() throws {
        let name = "ab" + String(repeating: "0", count: 30)
        let foreign = ["ab/holiday.jpg", "holiday.jpg", "ab/cd\(name)", "photos/\(name)"]
        let own = ["ab/\(name).jpg", "ab/\(name)-0123456789abcdef", "ab/\(name).1.2.tmp"]
        for file in foreign + own {
            let url = URL(filePath: "\(path)/\(file)")
            let folder = url.deletingLastPathComponent().path()
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data([1]).write(to: url)
            utimensat(AT_FDCWD, url.path(), [timespec(), timespec()], 0)
        }
        cache().removeExpired()
        let left = FileStore().files(below: path).map { String($0.path.dropFirst(path.count + 1)) }
        #expect(Set(left) == Set(foreign))
    }

    @Test("A disk that was full at the first write keeps images once it has room")
    func roomLater() {
        let room = Mutex(0)
        let limit = MeasuredLimit(assuming: 1 << 20) { room.withLock { $0 } }
        let cache = DiskCache(
            directory: path,
            limits: DiskLimits(size: limit, maximumAge: 1000, expiry: .lastUse, readOnlyDirectories: []),
            hashes: .standard
        )
        for isFull in [true, false] {
            for key in ["a", "b"] {
                cache.store(entry(key))
                cache.flush()
            }
            #expect(cache.contains("b") != isFull)
            room.withLock { $0 = 1 << 19 }
        }
    }

    @Test("All that is there is removed while another process stores", arguments: 0..<5)
    func removesAllWhileStoring(round: Int) {
        // Given a cache, and others that store in the same directory
        let mine = cache()
        let keys = (0..<400).map { "\(round) \($0)" }
        for key in keys { mine.store(entry(key, 10)) }
        mine.flush()
        let (isStopped, ends, stored) = (EventLog<Int>(), EventLog<Int>(), EventLog<Int>())
        for thread in 0..<2 {
            let other = cache()
            Thread.detachNewThread {
                var number = 0
                while isStopped.all.isEmpty {
                    other.store(CacheEntry(key: "other \(thread) \(number)", data: Data([1]), storedAt: .distantPast))
                    other.flush()
                    number += 1
                    if number == 50 { stored.add(1) }
                }
                ends.add(1)
            }
        }
        #expect(stored.wait { $0.count == 2 })
        // When all is removed
        mine.removeAll()
        // Then nothing is left of what was there before
        let left = keys.filter { mine.contains($0) }
        isStopped.add(1)
        #expect(ends.wait { $0.count == 2 })
        #expect(left.isEmpty && mine.failureCount == 0, "\(left.count) are left, \(mine.failureCount) calls failed")
    }

    @Test("The free space is found out by the thread that writes, and by no other")
    func measuredLimit() {
        let measured = EventLog<Bool>()
        let caller = pthread_self()
        let limit = MeasuredLimit(assuming: 1 << 20) {
            measured.add(pthread_equal(caller, pthread_self()) == 0)
            return 40_000
        }
        let cache = DiskCache(
            directory: path,
            limits: DiskLimits(size: limit, maximumAge: 1000, expiry: .lastUse, readOnlyDirectories: []),
            hashes: .standard
        )
        #expect(cache.entry(for: "a") == nil && cache.isHalfEmpty)
        cache.store(entry("a"))
        cache.store(entry("large", 20_000))
        #expect(measured.all.isEmpty)
        let done = EventLog<Bool>()
        Thread.detachNewThread {
            cache.flush()
            done.add(true)
        }
        #expect(done.wait { !$0.isEmpty })
        #expect(!measured.all.isEmpty && !measured.all.contains(false))
        // An entry that turned out to be too large is not written.
        #expect(cache.entry(for: "a") != nil && cache.entry(for: "large") == nil)
    }
}
