import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("The disk cache")
struct DiskCacheTests {
    private let directory = TemporaryDirectory()

    private func makeCache(sizeLimit: Int = 1 << 30, store: any FileStoring = FileStore()) -> DiskCache {
        DiskCache(
            directory: directory.path + "/cache",
            limits: DiskLimits(sizeLimit: sizeLimit),
            hashes: .standard,
            files: store
        )
    }

    private func entry(_ key: String, _ bytes: Int = 1000) -> CacheEntry {
        let data = Data((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ key.utf8.count) })
        let response = ResponseMetadata(contentType: "image/png")
        return CacheEntry(key: key, data: data, response: response, storedAt: Date(timeIntervalSince1970: 1.1))
    }

    @Test("What was stored is found by another cache on the same directory, with what was said about it")
    func persistence() {
        let entry = entry("http://host/a.png")
        let cache = makeCache()
        cache.store(entry)
        cache.flush()
        #expect(makeCache().entry(for: "http://host/a.png") == entry)
        #expect(makeCache().entry(for: "http://host/b.png") == nil)
    }

    @Test("An entry that is removed while it is being written is not there afterwards", arguments: [true, false])
    func removedWhileWritten(removesAll: Bool) {
        // Given a write that takes its time
        let gate = Gate()
        gate.close()
        let store = FaultyStore { call, _ in call == "write" ? .waits { gate.wait() } : nil }
        let cache = makeCache(store: store)
        cache.store(entry("a"))
        let ends = EventLog<String>()
        Thread.detachNewThread {
            cache.flush()
            ends.add("written")
        }
        #expect(EventLog<Int>.poll { store.callCount > 0 })
        // When it is removed meanwhile
        Thread.detachNewThread {
            if removesAll { cache.removeAll() } else { cache.remove("a") }
            ends.add("removed")
        }
        #expect(EventLog<Int>.poll { cache.entry(for: "a") == nil })
        gate.open()
        // Then it stays away
        #expect(ends.wait { $0.count == 2 })
        #expect(cache.entry(for: "a") == nil && !FileManager.default.fileExists(atPath: cache.filePath(for: "a")))
    }

    @Test("An entry is found from the moment it is announced, before anything is written")
    func staging() {
        let cache = makeCache()
        cache.store(entry("a"))
        #expect(cache.entry(for: "a") == entry("a"))
        #expect(!FileManager.default.fileExists(atPath: cache.filePath(for: "a")))
        cache.flush()
        #expect(FileManager.default.fileExists(atPath: cache.filePath(for: "a")))
        #expect(cache.entry(for: "a") == entry("a"))
    }

    @Test(
        "A file is named by a hash and the extension of its URL",
        arguments: [
            ("http://h/a/b.jpg", ".jpg"), ("http://h/a.png?x=1.gif", ".png"), ("http://h/a", ""),
            ("http://h.de/a", ""), ("http://h/a.b c", ""), ("http://h/a.toolongextension", ""),
            ("http://h/a.JPG#x", ".JPG"),
        ]
    )
    func names(key: String, suffix: String) {
        let name = makeCache().filePath(for: key).split(separator: "/").last.map(String.init) ?? ""
        #expect(name.count == 32 + suffix.count)
        #expect(name.hasSuffix(suffix))
    }

    @Test("The file begins with the image as it came, so that any program opens it")
    func readable() throws {
        let cache = makeCache()
        cache.store(entry("a"))
        cache.flush()
        let file = try Data(contentsOf: URL(filePath: cache.filePath(for: "a")))
        #expect(file.prefix(1000) == entry("a").data)
    }

    @Test("A file that is damaged anywhere or cut off is a miss, and removed")
    func damage() throws {
        let cache = makeCache()
        let path = cache.filePath(for: "a")
        cache.store(entry("a", 300))
        cache.flush()
        let whole = try Data(contentsOf: URL(filePath: path))
        for index in whole.indices {
            var damaged = whole
            damaged[index] ^= 0x10
            try damaged.write(to: URL(filePath: path))
            #expect(cache.entry(for: "a") == nil)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
        for length in 0..<whole.count {
            try whole.prefix(length).write(to: URL(filePath: path))
            #expect(cache.entry(for: "a") == nil)
        }
        try whole.write(to: URL(filePath: path))
        #expect(cache.entry(for: "a") == entry("a", 300))
    }

    @Test("The sound file of another key in its place is a miss")
    func otherKey() throws {
        let cache = makeCache()
        for key in ["a", "b"] { cache.store(entry(key)) }
        cache.flush()
        try Data(contentsOf: URL(filePath: cache.filePath(for: "b"))).write(to: URL(filePath: cache.filePath(for: "a")))
        #expect(cache.entry(for: "a") == nil)
        #expect(cache.entry(for: "b") != nil)
    }

    @Test("A directory that was deleted while the cache is in use is made again")
    func deletedDirectory() throws {
        let cache = makeCache()
        cache.store(entry("a"))
        cache.flush()
        try FileManager.default.removeItem(atPath: directory.path + "/cache")
        #expect(cache.entry(for: "a") == nil)
        cache.store(entry("a"))
        cache.flush()
        #expect(makeCache().entry(for: "a") == entry("a"))
    }

    @Test("A cache that cannot write is one that misses")
    func cannotWrite() throws {
        // Given a file where the directory should be
        try Data().write(to: URL(filePath: directory.path + "/cache"))
        let cache = makeCache()
        // When
        cache.store(entry("a"))
        cache.flush()
        // Then
        #expect(cache.entry(for: "a") == nil)
    }

    @Test("The least recently used files go first when the limit is exceeded")
    func trimming() {
        let cache = makeCache(sizeLimit: 400_000)
        for number in 0..<40 {
            cache.store(entry("\(number)", 20_000))
            cache.flush()
            _ = cache.entry(for: "0")
        }
        let kept = (0..<40).filter { cache.entry(for: "\($0)") != nil }
        #expect(kept.contains(0))
        #expect(kept.contains(39))
        #expect(!kept.contains(1))
        let size = FileStore().files(below: directory.path + "/cache").reduce(0) { $0 + $1.size }
        #expect(size <= 400_000 + 400_000 / 16 + 24_576)
    }

    @Test("What a killed process left half written is removed in time")
    func leftovers() throws {
        let cache = makeCache(sizeLimit: 400_000)
        cache.store(entry("a"))
        cache.flush()
        let leftover = cache.filePath(for: "a") + ".123.456.tmp"
        try Data(count: 10).write(to: URL(filePath: leftover))
        let later = DiskCache(
            directory: directory.path + "/cache",
            limits: DiskLimits(sizeLimit: 400_000),
            hashes: .standard,
            now: { Date().timeIntervalSince1970 + 7200 }
        )
        later.store(entry("b"))
        later.flush()
        #expect(!FileManager.default.fileExists(atPath: leftover))
        #expect(later.entry(for: "a") != nil)
    }
}
