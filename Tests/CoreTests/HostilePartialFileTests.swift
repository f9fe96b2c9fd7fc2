import Foundation
import Glibc
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Hostile files among the parts of bodies")
struct HostilePartialFileTests {
    private let folder = TemporaryDirectory()
    private let store: PartialBodyStore
    private static let key = "http://host/a.jpg"
    private static let body = Data((0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 7) })

    init() {
        store = PartialBodyStore(
            DiskCache(
                directory: "\(folder.path)/originals",
                limits: DiskLimits(sizeLimit: 64 << 20),
                hashes: .standard
            )
        )
    }

    private var directory: String { "\(folder.path)/originals/parts" }
    private var path: String { "\(directory)/\(CacheHashes.standard.name(Self.key))" }

    private static var version: PartialBody.Version {
        var metadata = ResponseMetadata()
        metadata.etag = "\"1\""
        return PartialBody.Version(
            url: URL(string: key)!,
            metadata: metadata,
            hasStrongDate: false,
            totalCount: 2_000_000
        )
    }

    /// Keeps a body in records of some kilobytes.
    private func keep(_ count: Int = body.count) {
        let writer = store.makeWriter(for: Self.key, Self.version, fields: "", after: Data())
        for start in stride(from: 0, to: count, by: 7000) {
            writer.append(Self.body[start..<min(start + 7000, count)], at: start)
        }
        writer.close()
        #expect(EventLog<Int>.poll { store.pendingWorkCount == 0 })
    }

    private func read() -> Data? { store.body(for: Self.key, budget: nil)?.data }

    private func put(_ data: Data) throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try data.write(to: URL(filePath: path))
    }

    @Test("A file that is cut off anywhere, as that of a killed process, yields the beginning of the body or nothing")
    func truncated() throws {
        keep()
        let file = try Data(contentsOf: URL(filePath: path))
        #expect(read() == Self.body)
        var generator = SeededGenerator(seed: 3)
        let cuts = Array(0..<600) + (0..<300).map { _ in Int.random(in: 600..<file.count, using: &generator) }
        var last = 0
        for cut in cuts.sorted() {
            try put(file.prefix(cut))
            let count = read()?.count ?? 0
            #expect(read() ?? Data() == Self.body.prefix(count) && count >= last && count.isMultiple(of: 7000))
            last = count
        }
        #expect(last == 35_000)
    }

    @Test("A file that is damaged anywhere yields right bytes or nothing, and a transfer goes on behind them")
    func damaged() throws {
        keep()
        let file = try Data(contentsOf: URL(filePath: path))
        var generator = SeededGenerator(seed: 4)
        for round in 0..<500 {
            var bad = file
            switch round % 3 {
            case 0:
                bad[Int.random(in: 0..<bad.count, using: &generator)] ^=
                    UInt8(1) << Int.random(in: 0..<8, using: &generator)
            case 1: bad.replaceSubrange(Int.random(in: 0..<bad.count, using: &generator)..., with: Data(count: 5000))
            default:
                let start = Int.random(in: 0..<bad.count - 100, using: &generator)
                bad.removeSubrange(start..<start + .random(in: 1..<100, using: &generator))
            }
            try put(bad)
            guard let part = store.body(for: Self.key, budget: nil) else { continue }
            // The head has a checksum too, so that nothing else can have changed.
            #expect(part.data == Self.body.prefix(part.data.count) && part.version == Self.version)
            let writer = store.makeWriter(for: Self.key, Self.version, fields: "", after: part.data)
            writer.append(Self.body[part.data.count...], at: part.data.count)
            writer.close()
            #expect(EventLog<Int>.poll { store.pendingWorkCount == 0 })
            #expect(read() == Self.body)
        }
    }

    @Test("Records of another file, and bytes of any kind, are no part")
    func foreign() throws {
        keep()
        let first = try Data(contentsOf: URL(filePath: path))
        unlink(path)
        keep(14_000)
        let second = try Data(contentsOf: URL(filePath: path))
        // Records of the first file behind those of the second
        let record = PartialRecord.length + 7000
        try put(second + first.suffix(first.count - first.count % record).suffix(record))
        #expect(read() == Self.body.prefix(14_000))
        try put(Data(first.prefix(PartialRecord.headLength(first))) + second.suffix(2 * record))
        #expect(read() == nil)
        for data in [
            Data(), Data("GIF89a".utf8), Data(repeating: 0xFF, count: 5000), Data("GWIpart1".utf8) + Data(count: 9000),
        ] {
            try put(data)
            #expect(read() == nil)
        }
        #expect(!FileManager.default.fileExists(atPath: path))
        // The file of another key
        keep()
        rename(path, "\(directory)/\(CacheHashes.standard.name("other"))")
        #expect(store.body(for: "other", budget: nil) == nil)
    }

    @Test("A huge file is not read")
    func huge() throws {
        keep()
        truncate(path, 1 << 40)
        let memory = Self.residentByteCount
        #expect(read() == nil && !FileManager.default.fileExists(atPath: path))
        #expect(Self.residentByteCount - memory < 64 << 20)
    }

    private static var residentByteCount: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
    }

    @Test("A file that claims a length that it does not have, or more than the body, is no part")
    func lying() throws {
        for (offset, value) in [(8, UInt32.max), (8, 0), (8, 1 << 20)] as [(Int, UInt32)] {
            keep()
            var file = try Data(contentsOf: URL(filePath: path))
            withUnsafeBytes(of: value.littleEndian) { file.replaceSubrange(offset..<offset + 4, with: $0) }
            try put(file)
            #expect(read() == nil)
        }
        var version = Self.version
        for total in [100, -5] as [Int64] {
            version.totalCount = total
            let writer = store.makeWriter(for: Self.key, version, fields: "", after: Data())
            writer.append(Self.body, at: 0)
            writer.close()
            #expect(EventLog<Int>.poll { store.pendingWorkCount == 0 })
            #expect(read() == nil)
        }
    }

    @Test("Many tiny records are not read for ever")
    func tinyRecords() throws {
        let writer = store.makeWriter(for: Self.key, Self.version, fields: "", after: Data())
        for offset in 0..<5000 { writer.append(Self.body[offset..<offset + 1], at: offset) }
        writer.close()
        #expect(EventLog<Int>.poll { store.pendingWorkCount == 0 })
        #expect(read() == Self.body.prefix(64))
    }

    @Test("What has the name of a file and is none is not read, written to or followed")
    func otherKinds() throws {
        let target = "\(folder.path)/target"
        let outside = Data("the user's file".utf8)
        try outside.write(to: URL(filePath: target))
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let makers: [(String) -> Int32] = [
            { symlink(target, $0) }, { symlink("/dev/zero", $0) }, { mkfifo($0, 0o600) }, { symlink($0, $0) },
        ]
        for make in makers {
            #expect(make(path) == 0)
            #expect(read() == nil)
            keep()
            #expect(read() == Self.body)
            #expect(try Data(contentsOf: URL(filePath: target)) == outside)
            unlink(path)
        }
        // A directory stays, and nothing is kept.
        mkdir(path, 0o700)
        keep()
        #expect(read() == nil)
        rmdir(path)
        // The directory itself leads elsewhere.
        let elsewhere = "\(folder.path)/elsewhere"
        mkdir(elsewhere, 0o700)
        rmdir(directory)
        #expect(symlink(elsewhere, directory) == 0)
        let other = PartialBodyStore(
            DiskCache(directory: "\(folder.path)/originals", limits: DiskLimits(sizeLimit: 64 << 20), hashes: .standard)
        )
        let writer = other.makeWriter(for: Self.key, Self.version, fields: "", after: Data())
        writer.append(Self.body, at: 0)
        writer.close()
        #expect(EventLog<Int>.poll { other.pendingWorkCount == 0 })
        #expect(other.body(for: Self.key, budget: nil) == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere).isEmpty)
    }
}

/// The layout of the files, as PartialFile describes it.
private enum PartialRecord {
    static let length = 24

    static func headLength(_ file: Data) -> Int {
        16 + (0..<4).reduce(0) { $0 | Int(file[8 + $1]) << (8 * $1) }
    }
}
