import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageLinux

@Suite("The setup of the caches")
struct CacheSetupTests {
    private let folder = TemporaryDirectory()
    private let memory = MemoryMonitor()

    private func manager(_ change: (inout ImageManager.Configuration) -> Void = { _ in }) -> ImageManager {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = ImageManager.Configuration.DiskCache(directory: folder.path + "/cache")
        configuration.memoryMonitor = memory
        change(&configuration)
        return ImageManager(configuration: configuration)
    }

    @Test("The directory is marked as a cache, and only directories of earlier layouts are removed from it")
    func layout() throws {
        for name in ["originals-1/ab", "originals-2", "renditions-3", "results-1", "originals-99", "notes"] {
            try FileManager.default.createDirectory(
                atPath: "\(folder.path)/cache/\(name)",
                withIntermediateDirectories: true
            )
        }
        let manager = manager()
        func names() -> Set<String> {
            Set((try? FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/cache")) ?? [])
        }
        #expect(EventLog<Int>.poll { names() == ["originals-99", "notes", "CACHEDIR.TAG"] })
        let tag = try String(contentsOfFile: "\(folder.path)/cache/CACHEDIR.TAG", encoding: .utf8)
        #expect(tag.hasPrefix("Signature: 8a477f597d28d172789f06886806bc55\n"))
        let url = try #require(URL(string: "http://host/a.png"))
        manager.cache.store(Data([1]), for: url)
        #expect(manager.cache.path(for: url)?.contains("/cache/originals-4/") == true)
    }

    @Test("A link in the place of a directory of the cache is removed, and not followed")
    func linkedSection() throws {
        let (section, outside) = ("\(folder.path)/cache/originals-4", "\(folder.path)/outside")
        for path in ["\(folder.path)/cache", outside] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        try FileManager.default.createSymbolicLink(atPath: section, withDestinationPath: outside)
        let manager = manager()
        #expect(EventLog<Int>.poll { !FileManager.default.fileExists(atPath: section) })
        #expect(FileManager.default.fileExists(atPath: outside))
        withExtendedLifetime(manager) {}
    }

    @Test("A folder of the user with the name of an earlier layout stays")
    func foreignFolders() throws {
        let name = String(repeating: "ab", count: 16)
        let files = [
            "originals-1/holiday.jpg", "originals-2/ab/notes.txt", "results-1/2024/a.jpg", "renditions-1/ab/\(name)-0f",
            "results-2/ab/\(name).jpg",
        ]
        for file in files {
            let url = URL(filePath: "\(folder.path)/cache/\(file)")
            try FileManager.default.createDirectory(
                atPath: url.deletingLastPathComponent().path(),
                withIntermediateDirectories: true
            )
            try Data([1]).write(to: url)
        }
        // The second manager finds the tag that the first one has written.
        for _ in 0..<2 { withExtendedLifetime(manager()) {} }
        func names() -> Set<String> {
            Set((try? FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/cache")) ?? [])
        }
        #expect(EventLog<Int>.poll { names() == ["originals-1", "originals-2", "results-1", "CACHEDIR.TAG"] })
    }

    @Test("A path in the environment that is not UTF-8 counts as none, and a disk without a size as full of room")
    func oddSystems() {
        let invalid: [CChar] = [0x2F, CChar(bitPattern: 0xFC), 0]
        #expect(CacheDirectory.text(invalid) == nil && CacheDirectory.text(nil) == nil)
        #expect(CacheDirectory.text("/caches") == "/caches")
        #expect(SystemResources.byteCount(blocks: .max, ofSize: 4096) == .max)
        #expect(SystemResources.byteCount(blocks: 3, ofSize: 4096) == 12_288)
        #expect(SystemResources.byteCount(blocks: 1, ofSize: .max) == .max)
    }

    @Test("Making a manager asks the file system nothing")
    func noQuestions() {
        // The default limit depends on the free space, which a slow file system takes long to tell.
        let configuration = ImageManager.Configuration()
        #expect(configuration.diskCache?.ownSizeLimit == nil)
        var disk = ImageManager.Configuration.DiskCache(directory: folder.path)
        disk.maximumByteCount = 1000
        #expect(disk.maximumByteCount == 1000 && disk.ownSizeLimit == 1000)
    }

    @Test("Every limit has a finite default")
    func bounds() {
        let disk = ImageManager.Configuration.DiskCache(directory: "/nowhere/at/all")
        #expect(disk.maximumByteCount > 0 && disk.maximumByteCount <= 500_000_000)
        #expect(disk.maximumAge == .seconds(7 * 86400) && disk.renditionShare <= 0.25)
        let configuration = ImageManager.Configuration()
        #expect(configuration.maximumMemoryCacheByteCount > 0 && configuration.maximumMemoryCacheByteCount <= 256 << 20)
        #expect(configuration.maximumMemoryCacheCount == 10_000)
        #expect(ImageManager.Configuration.DiskCache(namespace: "x").directory.hasSuffix("/web-images/x"))
    }

    @Test("Each namespace has one directory beside the others, whatever its name")
    func namespaces() {
        let names = ["a/b", "../../a", "..", ".", "a%2Fb", "é b"]
        let paths = names.map { ImageManager.Configuration.DiskCache(namespace: $0).directory.split(separator: "/") }
        #expect(paths.allSatisfy { $0.dropLast().last == "web-images" && $0.last?.hasPrefix(".") == false })
        #expect(Set(paths).count == names.count && paths.last?.last == "é b")
    }

    @Test(
        "The cache is where XDG_CACHE_HOME says, if that is an absolute path, else in the home directory",
        arguments: [
            ("/caches", "/home/me", "/caches"), ("caches", "/home/me", "/home/me/.cache"),
            ("./caches", "/home/me", "/home/me/.cache"), ("", "/home/me", "/home/me/.cache"),
            (nil, "/home/me", "/home/me/.cache"), (nil, "/", "/.cache"), (nil, "", "/.cache"), ("x", "me", "/.cache"),
        ] as [(String?, String, String)]
    )
    func place(cacheHome: String?, home: String, expected: String) {
        #expect(CacheDirectory.base(cacheHome, home: home) == expected)
    }

    @Test("All managers give memory back under memory pressure, and the monitor retains none of them")
    func pressure() throws {
        var managers = (0..<3).map { _ in manager { $0.diskCache = nil } }
        let pixels = try #require(
            PixelBuffer(size: PixelSize(width: 10, height: 10), format: .rgb) {
                $0.initializeMemory(as: UInt8.self, repeating: 0)
            }
        )
        let request = ImageRequest(url: try #require(URL(string: "http://host/a.png")))
        for manager in managers { manager.cache.store(WebImage(pixels: pixels), for: request, in: .memory) }
        memory.notify(.critical)
        #expect(managers.allSatisfy { $0.cache.memoryStatistics.count == 0 })
        let gone = { [weak manager = managers[0]] in manager }
        managers = []
        #expect(gone() == nil)
        memory.notify(.moderate)
    }

    @Test("A hidden application gives back half of what its memory caches may keep")
    func hidden() throws {
        let manager = manager {
            $0.diskCache = nil
            $0.maximumMemoryCacheByteCount = 1000
        }
        for number in 0..<2 {
            let pixels = try #require(
                PixelBuffer(size: PixelSize(width: 10, height: 10), format: .rgb) {
                    $0.initializeMemory(as: UInt8.self, repeating: 0)
                }
            )
            let request = ImageRequest(url: try #require(URL(string: "http://host/\(number).png")))
            manager.cache.store(WebImage(pixels: pixels), for: request, in: .memory)
        }
        #expect(manager.cache.memoryStatistics.count == 2)
        memory.applicationDidHide()
        #expect(manager.cache.memoryStatistics.count == 1)
    }

    @Test("An app's own cache replaces the directory")
    func ownCache() async throws {
        let manager = manager { $0.dataCache = SilentCache() }
        let url = try #require(URL(string: "http://host/a.png"))
        #expect(manager.cache.path(for: url) == nil)
        let usage = await manager.cache.diskUsage()
        #expect(usage.count == 0 && usage.byteCount == 0)
    }
}

/// A cache of an app that implements only what it has to.
private struct SilentCache: DataCaching {
    func entry(for key: String) -> CacheEntry? { nil }
    func store(_ entry: CacheEntry) {}
    func remove(_ key: String) {}
    func removeAll() {}
    var usage: CacheUsage { CacheUsage() }
}
