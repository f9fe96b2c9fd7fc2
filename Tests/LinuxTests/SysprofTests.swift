import Foundation
import Glibc
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageLinux

@Suite("Marks for sysprof", .blocking, .serialized)
struct SysprofTests {
    private let sysprof: FakeSysprof

    init() throws {
        sysprof = try FakeSysprof()
    }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private func mark(_ name: String = "decode", _ message: String = "https://example.org/a") -> SysprofMark {
        SysprofMark(name: name, message: message, start: 5, duration: .nanoseconds(7))
    }

    /// A connection that has its buffer.
    private func connect(_ ring: SysprofRing) -> SysprofConnection {
        let connection = SysprofConnection(control: sysprof.socket)
        #expect(sysprof.receiveRequest() == Array("CreatRing\0".utf8))
        sysprof.answer([ring.file])
        #expect(EventLog<Int>.poll { connection.isOpen != nil })
        return connection
    }

    @Test("Each stage of a load is a mark with its URL, its start and its duration")
    func stages() async throws {
        let ring = try SysprofRing(size: 16 * SysprofRing.page)
        let marks = SysprofMarks(connect(ring))
        let folder = TemporaryDirectory()
        let loader = FakeLoader()
        let image = TestImage.quarters(size: PixelSize(width: 64, height: 64), format: .png)
        let url = try #require(URL(string: "https://user:password@example.org/a.png?token=secret"))
        loader.answer(url, with: image)
        let manager = ImageManager.testing(loader) { $0.diskCache = .init(directory: folder.path) }
        let observation = manager.observe { marks.add($0) }
        let start = Self.now

        _ = try await manager.image(for: ImageRequest(url: url, transformer: .grayscale))
        let first = try #require(ring.read())
        #expect(first.map(\.name) == ["queued", "disk", "transfer", "decode", "transform", "delivery"])
        for mark in first {
            #expect(mark.group == "GtkWebImage" && mark.message == "https://example.org/a.png")
            #expect(mark.process == getpid())
            #expect(mark.duration >= 0 && mark.start >= start && mark.end <= Self.now)
        }
        // Stages follow each other. On a busy machine a thread may rest between the end of a stage and its mark.
        for (earlier, later) in zip(first, first.dropFirst()) { #expect(earlier.end <= later.start + 200_000_000) }

        // A memory hit has no stage, as it waits for nothing; one from the disk has no transfer.
        _ = try await manager.image(for: ImageRequest(url: url, transformer: .grayscale))
        #expect(ring.read() == [])
        #expect(await eventually { await manager.cache.tiers(containing: url).contains(.originals) })
        manager.cache.removeAllFromMemory()
        _ = try await manager.image(for: ImageRequest(url: url))
        #expect(try #require(ring.read()).map(\.name) == ["queued", "disk", "decode", "delivery"])
        withExtendedLifetime(observation) {}
    }

    @Test("Loads that fail or are cancelled leave nothing behind for those after them")
    func ends() async throws {
        let ring = try SysprofRing(size: 16 * SysprofRing.page)
        let marks = SysprofMarks(connect(ring))
        let loader = FakeLoader(holdsResponses: true)
        let url = try #require(URL(string: "https://example.org/a.png"))
        let manager = ImageManager.testing(loader)
        let observation = manager.observe { marks.add($0) }
        let cancelled = manager.load(ImageRequest(url: url), on: InlineDispatcher()) { _ in }
        #expect(await eventually { loader.runningCount == 1 })
        cancelled.cancel()
        _ = try? await cancelled.response
        #expect(await eventually { marks.followedCount == 0 && loader.cancelled == [url] })
        let failed = manager.load(ImageRequest(url: url), on: InlineDispatcher()) { _ in }
        #expect(await eventually { loader.runningCount == 1 })
        loader.finish(url)
        await #expect(throws: ImageError.self) { try await failed.response }
        #expect(await eventually { marks.followedCount == 0 })
        #expect(try #require(ring.read()).map(\.name) == ["queued", "queued", "transfer", "delivery"])
        withExtendedLifetime(observation) {}
    }

    @Test("Marks of before the answer come with it")
    func early() throws {
        let ring = try SysprofRing(size: SysprofRing.page)
        let connection = SysprofConnection(control: sysprof.socket)
        connection.add(mark("queued"))
        connection.add(mark("disk"))
        #expect(connection.isOpen == nil)
        _ = sysprof.receiveRequest()
        sysprof.answer([ring.file])
        #expect(EventLog<Int>.poll { connection.isOpen == true })
        #expect(ring.read()?.map(\.name) == ["queued", "disk"])
    }

    @Test(
        "Texts of any length and kind are cut to their field",
        arguments: ["", "é", "a", String(repeating: "é", count: 999)]
    )
    func texts(text: String) throws {
        let ring = try SysprofRing(size: SysprofRing.page)
        let connection = connect(ring)
        connection.add(mark(text, text))
        let read = try #require(ring.read()?.first)
        #expect(text.utf8.count > 39 ? read.name.utf8.count <= 41 && !read.name.isEmpty : read.name == text)
        #expect(text.utf8.count > 400 ? text.hasPrefix(read.message) && !read.message.isEmpty : read.message == text)
        #expect(read.start == 5 && read.duration == 7)
    }

    @Test("Marks without room are lost, and later ones come once sysprof has read")
    func full() throws {
        let ring = try SysprofRing(size: SysprofRing.page)
        let connection = connect(ring)
        var count = 0
        while connection.lostCount == 0 {
            connection.add(mark("mark \(count)"))
            count += 1
        }
        // A buffer of 4096 bytes has room for 31 marks of 128, since its tail stays behind its head.
        #expect(ring.read()?.map(\.name) == (0..<count - 1).map { "mark \($0)" })
        #expect(ring.read() == [])
        // Frames go over the end of the buffer, at every offset.
        for round in 0..<200 {
            let message = String(repeating: "m", count: round)
            connection.add(mark("mark", message))
            #expect(ring.read()?.map(\.message) == [message])
        }
        #expect(connection.lostCount == 1)
    }

    /// What sysprof would not answer.
    enum Malformed: String, CaseIterable {
        case noFile, pipe, emptyFile, onlyHeader, partOfPage, readOnly, otherSize, otherOffset, hangUp
    }

    @Test("An answer that is no buffer ends the marks", arguments: Malformed.allCases)
    func malformed(answer: Malformed) throws {
        let connection = SysprofConnection(control: sysprof.socket)
        connection.add(mark())
        _ = sysprof.receiveRequest()
        let page = SysprofRing.page
        let ring =
            switch answer {
            case .partOfPage: try SysprofRing(size: page + 100)
            case .otherSize: try SysprofRing(size: page, [.size: 2 * page])
            case .otherOffset: try SysprofRing(size: page, [.offset: 0])
            default: try SysprofRing(size: page)
            }
        switch answer {
        case .noFile: sysprof.answer([])
        case .pipe:
            var ends: [Int32] = [-1, -1]
            #expect(pipe(&ends) == 0)
            sysprof.answer([ends[0]])
            for end in ends { close(end) }
        case .emptyFile, .onlyHeader:
            #expect(ftruncate(ring.file, answer == .emptyFile ? 0 : off_t(page)) == 0)
            sysprof.answer([ring.file])
        case .readOnly:
            let file = open("/proc/self/fd/\(ring.file)", O_RDONLY)
            sysprof.answer([file])
            close(file)
        case .hangUp: sysprof.hangUp()
        default: sysprof.answer([ring.file])
        }
        #expect(EventLog<Int>.poll { connection.isOpen == false })
        connection.add(mark())
        if answer != .emptyFile && answer != .onlyHeader { #expect(ring.body.allSatisfy { $0 == 0 }) }
    }

    @Test("Without an answer the marks end")
    func silence() {
        let connection = SysprofConnection(control: sysprof.socket, longestWait: .milliseconds(1))
        connection.add(mark())
        #expect(EventLog<Int>.poll { connection.isOpen == false })
    }

    @Test(
        "Positions outside of the buffer, or within a frame, make nothing write behind its end",
        arguments: [[4096, 0], [0, 4096], [.max, 0], [0, .max], [.max, .max], [4088, 4095], [0, 4095]] as [[UInt32]]
    )
    func positions(heads: [UInt32]) throws {
        let ring = try SysprofRing(size: SysprofRing.page)
        let connection = connect(ring)
        (ring[.head], ring[.tail]) = (Int(heads[0]), Int(heads[1]))
        for _ in 0..<100 { connection.add(mark()) }
        // The fields behind the positions are what they were; a write behind the mapping would end the process.
        #expect(ring[.offset] == SysprofRing.page && ring[.size] == SysprofRing.page)
        #expect(connection.lostCount > 0)
    }

    @Test("Only a stream socket counts as that of sysprof")
    func sockets() throws {
        var ends: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        let file = try SysprofRing(size: SysprofRing.page).file
        for text in [nil, "", "x", "-1", "1e3", "99999999999", "\(ends[0])", "\(file)"] {
            #expect(SysprofConnection.socket(named: text) == nil, "\(text ?? "nil")")
        }
        #expect(SysprofConnection.socket(named: "\(sysprof.socket)") == sysprof.socket)
    }

    @Test("A program that sysprof has started marks the loads of its managers, and any other follows none")
    func program() throws {
        let image = TestImage.quarters(size: PixelSize(width: 64, height: 64), format: .png)
        let server = try LocalImageServer { _ in .ok(image, contentType: "image/png") }
        let folder = TemporaryDirectory()
        let path = server.url("/a.png").absoluteString
        let process = try ChildProcess.run(BuiltProgram.path("NetworkWorker"), ["sysprof", path, folder.path])
        #expect(process.exitCode == 0, "\(process.output)")
        for stage in ["queued", "disk", "transfer", "decode", "delivery"] {
            #expect(process.output.contains("\(stage) \(path)\n"), "\(process.output)")
        }
        #expect(SysprofMarks.shared == nil)
    }
}
