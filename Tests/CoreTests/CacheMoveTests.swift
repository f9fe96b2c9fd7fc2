import Foundation
import Glibc
import Synchronization
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Moving a disk cache", .blocking, .serialized)
struct CacheMoveTests {
    private let folder = TemporaryDirectory()
    private let fixture = ManagerFixture()
    private let file = TestImage.solid(0x336699, size: PixelSize(width: 400, height: 300))

    private var cache: ImageCache { fixture.manager.cache }

    /// A place on another file system, if the machine has one; it is removed with the object.
    private final class OtherPlace {
        let path: String

        init(beside folder: TemporaryDirectory) {
            let isOther = Self.device("/dev/shm").map { $0 != Self.device(folder.path) } ?? false
            path = isOther ? "/dev/shm/gwi-\(getpid())-\(UInt32.random(in: 0 ... .max))" : "\(folder.path)/other"
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        private static func device(_ path: String) -> UInt? {
            var status = stat()
            return stat(path, &status) == 0 ? UInt(status.st_dev) : nil
        }
    }

    /// Fills the caches of a directory as a process has left them.
    private func fill(_ directory: String, count: Int) {
        for (name, section) in [("originals", "original"), ("results", "rendition")] {
            let cache = disk("\(directory)/\(name)")
            for number in 0..<count {
                let data =
                    Data("\(section) \(number)".utf8) + Data(repeating: UInt8(truncatingIfNeeded: number), count: 2000)
                cache.store(CacheEntry(key: "\(number)", data: data, storedAt: .distantPast))
            }
            cache.flush()
        }
    }

    private func disk(_ directory: String) -> DiskCache {
        DiskCache(directory: directory, limits: DiskLimits(sizeLimit: 1 << 30), hashes: .standard)
    }

    /// Whether a directory has every entry of those that it was filled with, in both caches.
    private func isComplete(_ directory: String, count: Int) -> Bool {
        [("originals", "original"), ("results", "rendition")].allSatisfy { name, section in
            let cache = disk("\(directory)/\(name)")
            return (0..<count).allSatisfy { number in
                cache.entry(for: "\(number)")?.data.starts(with: Data("\(section) \(number)".utf8)) == true
            }
        }
    }

    private func failure(_ path: String, _ cache: ImageCache? = nil) async -> ImageError? {
        do throws(ImageError) {
            try await (cache ?? self.cache).moveDirectory(to: path)
            return nil
        } catch {
            return error
        }
    }

    private func names(_ directory: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted()
    }

    @Test("Originals and renditions are in the new directory, also on another file system, and the old one is gone")
    func move() async throws {
        let other = OtherPlace(beside: folder)
        let small = ImageRequest(
            url: fixture.url("a"),
            decodeSize: .contain(PixelSize(width: 40, height: 30))
        )
        fixture.loader.answer(fixture.url("a"), with: file)
        _ = try await fixture.manager.image(for: small)
        #expect(EventLog<Int>.poll { fixture.isQuiet && fixture.results.usage.count == 1 })
        try await cache.setAttachment(Data([7]), for: small)
        let old = try #require(fixture.disk?.directory)
        for target in ["\(folder.path)/deep/down/cache", other.path, "\(folder.path)/again/"] {
            try await cache.moveDirectory(to: target)
            cache.removeAllFromMemory()
            #expect(await cache.tiers(containing: small) == .disk)
            #expect(try await fixture.manager.response(for: small).source == .disk)
            #expect(await cache.attachment(for: small) == Data([7]))
            #expect(cache.path(for: small)?.hasPrefix(URL(filePath: target).path()) == true)
            #expect(names(target) == ["originals", "results"])
        }
        #expect(fixture.loader.requests.count == 1)
        #expect(names(URL(filePath: old).deletingLastPathComponent().path()) == [])
        #expect(names(other.path) == [] && names("\(folder.path)/deep/down") == [])
        // What comes later is in the new directory, too.
        try await cache.store(file, for: fixture.url("b")).waitUntilWritten()
        #expect(disk("\(folder.path)/again/originals").entry(for: "http://host/b")?.data == file)
    }

    @Test(
        "A cache that was moved off a read-only disk writes at once, with the limit of the new place"
    )
    func otherDisk() async throws {
        // Given a disk that fails for the next minute, as far as the cache knows
        let isReadOnly = EventLog<Int>()
        let store = FaultyStore { call, _ in call == "write" && !isReadOnly.all.isEmpty ? .fails(EROFS) : nil }
        let limit = MeasuredLimit(assuming: 1_000_000) { $0.hasPrefix("\(folder.path)/new") ? 2_000_000 : 1_000_000 }
        let limits = DiskLimits(size: limit, maximumAge: 1000, expiry: .lastUse, readOnlyDirectories: [])
        let disk = DiskCache(directory: "\(folder.path)/old/o", limits: limits, hashes: .standard, files: store)
        disk.store(CacheEntry(key: "a", data: Data([1]), storedAt: Date()))
        disk.flush()
        isReadOnly.add(1)
        disk.store(CacheEntry(key: "b", data: Data([1]), storedAt: Date()))
        disk.flush()
        #expect(!disk.contains("b") && disk.usage.byteLimit == 1_000_000)
        // When it is moved to another one
        let fixture = ManagerFixture(hasResults: false) { $0.dataCache = disk }
        try await fixture.manager.cache.moveDirectory(to: "\(folder.path)/new")
        // Then it knows nothing of the old one
        disk.store(CacheEntry(key: "b", data: Data([1]), storedAt: Date()))
        #expect(disk.contains("a") && disk.contains("b") && disk.usage.byteLimit == 2_000_000)
    }

    /// An empty directory where a file system is mounted.
    private static let mountPoint: String? = {
        let mounts = (try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)) ?? ""
        return mounts.split(separator: "\n").lazy.compactMap {
            $0.split(separator: " ").dropFirst().first.map(String.init)
        }
        .first { (try? FileManager.default.contentsOfDirectory(atPath: $0).isEmpty) == true }
    }()

    @Test(
        "A mount point is refused before anything is copied, and the error says what to name",
        .enabled(if: mountPoint != nil)
    )
    func mountPoints() async throws {
        let target = try #require(Self.mountPoint)
        let error = await failure(target)
        #expect(error?.code == .notMoved && error?.reason == "A file system is mounted at \(target)")
        #expect(error?.remedy.contains("below it") == true)
        #expect(names(target) == [])
    }

    @Test("The dates of entries stay, so that the oldest are still evicted first")
    func dates() async throws {
        let other = OtherPlace(beside: folder)
        try await cache.store(file, for: fixture.url("a")).waitUntilWritten()
        // Entries of another year would be evicted, by their age.
        let now = time(nil)
        let long = [timespec(tv_sec: now - 2000, tv_nsec: 5), timespec(tv_sec: now - 1000, tv_nsec: 7)]
        // glibc 2.41 takes nil for a path, so the type is what makes the requirement.
        let path: String = try #require(cache.path(for: fixture.url("a")))
        utimensat(AT_FDCWD, path, long, 0)
        try await cache.moveDirectory(to: other.path)
        let moved = try #require(FileStore().files(below: other.path).first)
        #expect(Int(moved.modified) == now - 1000 && Int(moved.lastUse) == now - 1000)
    }

    @Test("Files of others in the old directory stay, and what is in the way of the new one is never touched")
    func others() async throws {
        let source = folder.path + "/source"
        fill(source, count: 3)
        try Data([1]).write(to: URL(filePath: source + "/holiday.jpg"))
        let fixture = ManagerFixture { dependencies in
            dependencies.dataCache = disk(source + "/originals")
            dependencies.renditionCache = disk(source + "/results")
        }
        let (target, empty) = (folder.path + "/target", folder.path + "/empty")
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
        try Data([1]).write(to: URL(filePath: target + "/notes.txt"))
        try Data([2]).write(to: URL(filePath: folder.path + "/file"))
        symlink(target, folder.path + "/link")
        for path in [
            target, folder.path + "/file", folder.path + "/link", folder.path, source + "/originals/inner", "relative",
            "",
            "/", "\(folder.path)/..", "/proc/self/nowhere/cache", folder.path + "/file/cache",
        ] {
            let error = await failure(path, fixture.manager.cache)
            #expect(error?.code == .notMoved, "\(path)")
        }
        #expect(names(target) == ["notes.txt"] && isComplete(source, count: 3))
        #expect(names(folder.path) == ["empty", "file", "link", "source", "target"])
        // The place where it is, and an empty directory, are no obstacles.
        #expect(await failure(source, fixture.manager.cache) == nil)
        #expect(isComplete(source, count: 3))
        #expect(await failure(empty, fixture.manager.cache) == nil)
        #expect(isComplete(empty, count: 3))
        #expect(names(source) == ["holiday.jpg"])
        let none = ManagerFixture(hasDisk: false, hasResults: false)
        #expect(await failure(folder.path + "/x", none.manager.cache)?.code == .notMoved)
    }

    @Test("While the cache moves to and fro, loads find every entry or miss, and none is lost or of another image")
    func underLoad() async throws {
        let other = OtherPlace(beside: folder)
        let disk = try #require(fixture.disk)
        @Sendable func data(_ key: Int) -> Data { Data(repeating: UInt8(key), count: 3000 + key) }
        for key in 0..<50 {
            disk.store(CacheEntry(key: "kept \(key)", data: data(key), storedAt: .distantPast))
        }
        disk.flush()
        let isDone = EventLog<Int>()
        let ended = EventLog<Int>()
        // Threads of their own, since those of Swift's tasks are as few as the processors.
        for worker in 0..<2 {
            Thread.detachNewThread {
                var round = 0
                while isDone.all.isEmpty {
                    round += 1
                    let key = (round * 7 + worker) % 50
                    disk.store(CacheEntry(key: "new \(key)", data: data(key), storedAt: .distantPast))
                    disk.waitUntilWritten("new \(key)")
                    if round % 5 == 0 { disk.remove("new \((key + 1) % 50)") }
                    for kind in ["kept", "new"] {
                        guard let found = disk.entry(for: "\(kind) \(key)") else { continue }
                        #expect(found.data == data(key))
                    }
                }
                ended.add(worker)
            }
        }
        for round in 0..<6 {
            let error = await failure(round % 2 == 0 ? other.path : "\(folder.path)/home")
            #expect(error == nil, "\(String(describing: error))")
        }
        isDone.add(1)
        #expect(ended.wait { $0.count == 2 })
        for key in 0..<50 { #expect(disk.entry(for: "kept \(key)")?.data == data(key)) }
        #expect(disk.failureCount == 0)
        #expect(names(other.path) == [])
    }

    @Test("Two moves at once end in one of the targets, with all entries")
    func twoMoves() async throws {
        let disk = try #require(fixture.disk)
        for key in 0..<50 { disk.store(CacheEntry(key: "\(key)", data: Data([UInt8(key)]), storedAt: .distantPast)) }
        disk.flush()
        let targets = (0..<4).map { "\(folder.path)/\($0)" }
        await withTaskGroup(of: Void.self) { group in
            for target in targets { group.addTask { _ = await failure(target) } }
        }
        for key in 0..<50 { #expect(disk.entry(for: "\(key)")?.data == Data([UInt8(key)])) }
        #expect(names(folder.path).count == 1)
    }

    @Test("A process that is killed at any point of a move leaves one complete cache", arguments: [false, true])
    func killed(isOnOtherFileSystem: Bool) throws {
        let program = BuiltProgram.path("CacheWorker")
        let other = OtherPlace(beside: folder)
        let places = [folder.path + "/a", isOnOtherFileSystem ? other.path : folder.path + "/b"]
        let count = 40
        fill(places[0], count: count)
        let start = try ContinuousClock().measure {
            let result = try ChildProcess.run(program, ["move", places[0], places[1], "2"])
            #expect(result.exitCode == 0, "\(result.output)")
        }
        #expect(isComplete(places[0], count: count))
        var current = 0
        for _ in 0..<10 {
            let time = start / .seconds(1) * Double.random(in: 0.5...1.5)
            let result = try ChildProcess.run(
                program,
                ["move", places[current], places[1 - current], "1000000"],
                seconds: time
            )
            #expect(result.signal == SIGKILL, "\(result.output)")
            let complete = (0..<2).filter { isComplete(places[$0], count: count) }
            guard let first = complete.first else {
                Issue.record("no place is complete: \(places.map(names))")
                return
            }
            current = first
            // The other one is what was not removed yet, which is in the way of the next move.
            try? FileManager.default.removeItem(atPath: places[1 - current])
        }
        // Copies that were not finished have names of their own.
        let left = names(folder.path).filter { !["a", "b", "other"].contains($0) }
        #expect(left.allSatisfy { $0.hasSuffix(".moving") })
        for name in names("/dev/shm") where name.hasPrefix(".\(URL(filePath: other.path).lastPathComponent).") {
            try? FileManager.default.removeItem(atPath: "/dev/shm/\(name)")
        }
    }

    @Test("A target without room leaves the cache where it is", .enabled(if: Self.canMount))
    func fullDisk() throws {
        let (source, mount) = (folder.path + "/source", folder.path + "/mount")
        fill(source, count: 400)
        try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: true)
        let script =
            "mount -t tmpfs -o size=256k none '\(mount)' && \"$0\" move '\(source)' '\(mount)/cache' 1; ls -A '\(mount)'"
        let command = ["--user", "--map-root-user", "--mount", "sh", "-c", script, BuiltProgram.path("CacheWorker")]
        let result = try ChildProcess.run("unshare", command)
        #expect(result.output.contains("notMoved 1021"), "\(result.output)")
        #expect(!result.output.contains(".moving\n"))
        #expect(isComplete(source, count: 400))
    }

    private static let canMount: Bool = {
        let test = ["--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
        return (try? ChildProcess.run("unshare", test))?.exitCode == 0
    }()

    @Test("What a killed move has left is removed by a later one once it is old, and nothing else is")
    func leftovers() async throws {
        let target = folder.path + "/cache"
        let (old, new) = (folder.path + "/.cache.12.34.moving", folder.path + "/.cache.56.78.moving")
        let foreign = folder.path + "/.other.12.34.moving"
        for path in [old, new, foreign] {
            try FileManager.default.createDirectory(atPath: path + "/originals", withIntermediateDirectories: true)
        }
        let date = timespec(tv_sec: time(nil) - 100_000, tv_nsec: 0)
        for path in [old, foreign] { utimensat(AT_FDCWD, path, [date, date], 0) }
        try await cache.moveDirectory(to: target)
        #expect(names(folder.path) == [".cache.56.78.moving", ".other.12.34.moving", "cache"])
    }
}
