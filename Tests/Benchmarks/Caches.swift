import ArgumentParser
import CAllocationCounter
import Foundation
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageTesting

/// Measures the memory and disk caches.
struct Caches: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Nanoseconds and allocations of the memory cache, milliseconds of the disk cache."
    )

    @Option(help: "The number of entries in the directory that is trimmed.")
    var entries = 100_000

    func run() throws {
        memory()
        try entryFiles()
        try disk()
        try trim()
    }

    private func memory() {
        let requests = (0..<1000).map { index in
            ImageRequest(
                url: URL(string: "https://images.example.org/some/folder/of/many/\(index).jpg")!,
                decodeSize: .contain(PixelSize(width: 256, height: 192))
            )
        }
        let pixels = PixelBuffer(size: PixelSize(width: 64, height: 48), format: .rgb) {
            $0.initializeMemory(as: UInt8.self, repeating: 0)
        }!
        let images = requests.map { _ in WebImage(pixels: pixels, naturalSize: PixelSize(width: 64, height: 48)) }
        let cost = images[0].byteCount
        let (full, half) = (MemoryCache(costLimit: cost * 1000), MemoryCache(costLimit: cost * 500))
        let queries = requests.map { MemoryQuery($0) }
        for (request, image) in zip(requests, images) { full.store(MemoryEntry(image, for: ImageKey(request))) }
        measure("memory: query of a request", limit: 0) { _ = MemoryQuery(requests[$0]) }
        measure("memory: hit", limit: 0) { precondition(full.entry(for: queries[$0]) != nil) }
        let empty = MemoryCache(costLimit: cost * 1000)
        measure("memory: miss", limit: 0) { precondition(empty.entry(for: queries[$0]) == nil) }
        measure("memory: put, known key", limit: 18) {
            full.store(MemoryEntry(images[$0], for: ImageKey(requests[$0])))
        }
        measure("memory: put and evict", limit: 19) { half.store(MemoryEntry(images[$0], for: ImageKey(requests[$0]))) }
    }

    /// Measures how an entry becomes a file, and a file an entry, without the disk.
    private func entryFiles() throws {
        let time = Date(timeIntervalSince1970: 1e9)
        var response = ResponseMetadata(contentType: "image/jpeg")
        (response.etag, response.cacheControl) = ("\"5f3e-6142c0a1b2c3d\"", "public, max-age=31536000")
        (response.lastModified, response.lastModifiedDate) = ("Sun, 09 Sep 2001 01:46:40 GMT", time)
        (response.date, response.requestTime, response.responseTime) = (time, time, time)
        let key = "https://images.example.org/some/folder/of/many/1.jpg"
        let entry = CacheEntry(key: key, data: Data(count: 100), response: response, storedAt: time)
        let file = try CacheEntryFile.encode(entry, .standard).reduce(Data(), +)
        try measure("disk: entry to file", limit: 8) { _ in _ = try CacheEntryFile.encode(entry, .standard) }
        try measure("disk: file to entry", limit: 9) { _ in
            let found = try CacheEntryFile(tail: file, size: file.count, key: key, .standard)
            precondition(found?.entry(file, .standard) != nil)
        }
    }

    /// - Parameter limit: The allocations that each call may take.
    private func measure(_ name: String, limit: Double, body: (Int) throws -> Void) rethrows {
        for index in 0..<1000 { try body(index) }
        let rounds = 200
        let before = allocation_count()
        let time = try ContinuousClock().measure {
            for _ in 0..<rounds { for index in 0..<1000 { try body(index) } }
        }
        let count = Double(rounds * 1000)
        let allocations = Double(allocation_count() - before) / count
        let nanoseconds = Int((time / .nanoseconds(1) / count).rounded())
        print("\(name): \(nanoseconds) ns, \(Rounds.format(allocations)) allocations")
        Limits.check("\(name), allocations", allocations, atMost: limit)
    }

    /// Measures a photograph of 1600x1200 pixels that is shown at 256x192.
    private func disk() throws {
        let photo = TestImage.make(size: PixelSize(width: 1600, height: 1200), format: .jpeg) { x, y in
            UInt32(truncatingIfNeeded: (x * 255 / 1600) << 16 | (y * 255 / 1200) << 8 | (x * y / 500) & 255)
        }
        let folder = TemporaryDirectory()
        let disk = DiskCache(directory: folder.path, limits: DiskLimits(sizeLimit: 1 << 30), hashes: .standard)
        let (coder, renditionCoder) = (JPEGCoder(), RenditionCoder())
        let options = DecodeOptions(size: .contain(PixelSize(width: 256, height: 192)))
        let image = try coder.decode(photo, options: options)
        for index in 0..<100 { disk.store(CacheEntry(key: "original \(index)", data: photo, storedAt: Date())) }
        disk.flush()
        print("disk: original \(photo.count) bytes, pixels \(image.byteCount)")
        var renditions: [(hasRoom: Bool, milliseconds: Double)] = []
        for hasRoom in [true, false] {
            let (data, encoding) = renditionCoder.encode(image, hasRoom: hasRoom)!
            for index in 0..<100 {
                var entry = CacheEntry(key: "result \(index)", data: data, storedAt: Date())
                entry.rendition = RenditionInfo(image, encoding: encoding, source: Date())
                disk.store(entry)
            }
            disk.flush()
            let result = milliseconds { index in
                let entry = disk.entry(for: "result \(index)")!
                precondition(renditionCoder.decode(entry.data, entry.rendition!) != nil)
            }
            let read = milliseconds { _ = disk.entry(for: "result \($0)")! }
            let encode = milliseconds { _ in _ = renditionCoder.encode(image, hasRoom: hasRoom) }
            print(
                "disk: rendition (\(encoding)) \(data.count) bytes, \(Rounds.format(result)) ms,"
                    + " of which reading \(Rounds.format(read)); writing \(Rounds.format(encode))"
            )
            renditions.append((hasRoom, result))
        }
        let original = try milliseconds { index in
            _ = try coder.decode(disk.entry(for: "original \(index)")!.data, options: options)
        }
        print("disk: original with decode \(Rounds.format(original)) ms")
        for (hasRoom, milliseconds) in renditions {
            let name = "disk: rendition, with\(hasRoom ? "" : "out") room, to original with decode"
            Limits.check(name, milliseconds / original, atMost: hasRoom ? 0.1 : 0.3)
        }
    }

    private func milliseconds(_ body: (Int) throws -> Void) rethrows -> Double {
        var times: [Double] = []
        for index in 0..<100 {
            let time = try ContinuousClock().measure { try body(index) }
            times.append(time / .milliseconds(1))
        }
        return Rounds.median(times)
    }

    private func trim() throws {
        let folder = TemporaryDirectory()
        let limits = DiskLimits(sizeLimit: entries * 4096 * 9 / 10)
        let writer = DiskCache(directory: folder.path, limits: DiskLimits(sizeLimit: .max / 8), hashes: .standard)
        for index in 0..<entries {
            writer.store(CacheEntry(key: "http://host/\(index).jpg", data: Data(count: 100), storedAt: Date()))
            if index % 1000 == 0 { writer.flush() }
        }
        writer.flush()
        let disk = DiskCache(directory: folder.path, limits: limits, hashes: .standard)
        let time = ContinuousClock().measure { disk.removeExpired() }
        let left = disk.usage.count
        print(
            "disk: \(entries) entries looked at and \(entries - left) removed in \(Rounds.format(time / .seconds(1))) s"
        )
    }
}
