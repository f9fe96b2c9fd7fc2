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
        let data = TestBytes.stepping(by: 31, from: key.utf8.count, count: bytes)
        let response = ResponseMetadata(contentType: "image/png")
        return CacheEntry(key: key, data: data, response: response, storedAt: Date(timeIntervalSince1970: 1.1))
    }

    @Test("An entry and its metadata are found by another cache on the same directory")
    func persistence() {
        let entry = entry("http://host/a.png")
        let cache = makeCache()
        cache.store(entry)
        cache.flush()
        #expect(makeCache().entry(for: "http://host/a.png") == entry)
        #expect(makeCache().entry(for: "http://host/b.png") == nil)
    }

    @Test("Metadata is read as it was written, and missing or altered bytes are no trap")
    func metadata() throws {
        // Checksums that always match let the reader see the altered bytes.
        let hashes = CacheHashes(name: { _ in "" }, checksum: { _ in 0 })
        let time = Date(timeIntervalSince1970: 1.1)
        var response = ResponseMetadata(contentType: "image/png")
        (response.etag, response.lastModified) = ("\"ü\"", "today")
        response.cacheControl = String(repeating: "a", count: 2000)
        (response.lastModifiedDate, response.expires, response.date) = (time, .distantPast, .distantFuture)
        (response.age, response.vary, response.requestTime) = (2.5, ["accept": "x", "cookie": ""], time)
        let target = try #require(URL(string: "http://host/a"))
        response.redirects = ResponseMetadata.Redirects([(302, response)], to: target, at: time)
        var entry = CacheEntry(key: "a", data: Data(), response: response, storedAt: time)
        let size = PixelSize(width: 3, height: 2)
        let pixels = try #require(PixelBuffer(size: size, format: .rgb) { _ in })
        entry.rendition = RenditionInfo(WebImage(pixels: pixels), encoding: .zstd, source: time)
        (entry.thumbHash, entry.attachment) = (ThumbHash(base64: "1QcSHQRnh493V4dIh4eXh1h4kJUI"), Data([7]))
        let tail = try CacheEntryFile.encode(entry, hashes)[1]
        let metadata = tail.dropLast(CacheEntryFile.footerLength)
        func read(_ metadata: Data) throws -> CacheEntry? {
            var file = metadata
            for number in [0, UInt64(metadata.count), 0] {
                withUnsafeBytes(of: number.littleEndian) { file.append(contentsOf: $0) }
            }
            file += tail.suffix(8)
            return try CacheEntryFile(tail: file, size: file.count, key: "a", hashes)?.entry(file, hashes)
        }
        #expect(entry.thumbHash != nil && response.redirects?.vary != nil)
        #expect(try read(metadata) == entry)
        // A later version may add fields.
        #expect(try read(metadata + Data([1, 2])) == entry)
        for count in 0..<metadata.count {
            #expect(try read(metadata.prefix(count))?.attachment == nil)
        }
        for index in metadata.indices {
            for value in [0, 1, 0x7F, 0xFF] as [UInt8] {
                var altered = metadata
                altered[index] = value
                _ = try read(altered)
            }
        }
    }

    @Test("A URL that ends like a file that is being written has an entry like all others")
    func temporaryNames() throws {
        let cache = makeCache()
        for end in ["tmp", "TMP", "png"] { cache.store(entry("http://host/a.\(end)?x=1")) }
        cache.flush()
        #expect(cache.usage.count == 3)
        #expect(cache.fileName(for: "http://host/a.tmp?x=1")?.hasSuffix(".tmp") == false)
        #expect(cache.fileName(for: "http://host/a.png?x=1")?.hasSuffix(".png") == true)
    }

    @Test("An entry that is removed during its write stays removed", arguments: [true, false])
    func removedWhileWritten(removesAll: Bool) {
        // Given a slow write
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
        // When the entry is removed during the write
        Thread.detachNewThread {
            if removesAll { cache.removeAll() } else { cache.remove("a") }
            ends.add("removed")
        }
        #expect(EventLog<Int>.poll { cache.entry(for: "a") == nil })
        gate.open()
        // Then it does not come back
        #expect(ends.wait { $0.count == 2 })
        #expect(cache.entry(for: "a") == nil && !FileManager.default.fileExists(atPath: cache.filePath(for: "a")))
    }

    @Test("An entry is found as soon as it is staged, before anything is written")
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
        "A file is named after a hash and the extension of the URL",
        arguments: [
            ("http://h/a/b.jpg", ".jpg"), ("http://h/a.png?x=1.gif", ".png"), ("http://h/a", ""),
            ("http://h.de/a", ""), ("http://h/a.b c", ""), ("http://h/a.toolongextension", ""),
            ("http://h/a.JPG#x", ".JPG"), ("http://h/a.12345678", ".12345678"), ("http://h/a.123456789", ""),
            ("http://h/a.", ""), ("http://h/a.jp\u{301}g", ""), (".gif", ".gif"), ("gif", ""),
        ]
    )
    func names(key: String, suffix: String) {
        let name = makeCache().filePath(for: key).split(separator: "/").last.map(String.init) ?? ""
        #expect(name.count == 32 + suffix.count)
        #expect(name.hasSuffix(suffix))
    }

    @Test("Variants that are staged are dropped with those on disk, and those of other images stay")
    func outdatedWhileStaged() {
        // Given variants of two images, of which one has a key that begins with that of the other
        let cache = makeCache()
        let variants = ["a", "a.b"].map { base in
            ["small", "large"].map { CacheKey.string(base: base, variant: $0) }
        }
        for key in variants[0] + variants[1] { cache.store(entry(key)) }
        cache.store(entry(variants[0][0], 10))
        // When those of one are outdated
        cache.outdateVariants(of: "a")
        cache.flush()
        // Then they are gone, and nothing else is
        #expect(variants[0].allSatisfy { cache.entry(for: $0) == nil })
        #expect(variants[1].allSatisfy { cache.entry(for: $0) == entry($0) })
        // And new ones are stored
        cache.store(entry(variants[0][1]))
        cache.flush()
        #expect(makeCache().entry(for: variants[0][1]) == entry(variants[0][1]))
    }

    @Test("The file begins with the original bytes, so that any program opens it")
    func readable() throws {
        let cache = makeCache()
        cache.store(entry("a"))
        cache.flush()
        let file = try Data(contentsOf: URL(filePath: cache.filePath(for: "a")))
        #expect(file.prefix(1000) == entry("a").data)
    }

    @Test("A damaged or truncated file is a miss and is removed")
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

    @Test("An intact file of another key is a miss")
    func otherKey() throws {
        let cache = makeCache()
        for key in ["a", "b"] { cache.store(entry(key)) }
        cache.flush()
        try Data(contentsOf: URL(filePath: cache.filePath(for: "b"))).write(to: URL(filePath: cache.filePath(for: "a")))
        #expect(cache.entry(for: "a") == nil)
        #expect(cache.entry(for: "b") != nil)
    }

    @Test("A directory that is deleted while the cache is in use is created again")
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

    @Test("A cache that cannot write misses")
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

    @Test("Above the limit the least recently used files are evicted first")
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

    @Test("Incomplete files of a killed process are removed in time")
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
