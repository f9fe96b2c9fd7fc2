import Foundation
import Glibc
import Synchronization
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Transfers that go on after the app has started again", .blocking, .serialized)
struct RestartTests {
    private static let body = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) })
    private static let other = Data(body.reversed())
    private let directory = TemporaryDirectory()

    /// A manager as that of an app that has just started.
    private func manager(
        downloader: ImageDownloader = ImageDownloader(),
        in path: String? = nil,
        _ change: (inout ImageManager.Configuration) -> Void = { _ in }
    ) -> ImageManager {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = ImageManager.Configuration.DiskCache(directory: path ?? directory.path)
        configuration.downloader = downloader
        configuration.retryPolicy = .never
        change(&configuration)
        return ImageManager(configuration: configuration)
    }

    /// A server whose first response breaks off, and the later ones of which are those of another server.
    private func server(
        _ headers: [(String, String)] = [("ETag", "\"1\"")],
        count: Int = 1_500_000,
        body: Data = body,
        later: (@Sendable (ServerRequest) -> ServerResponse)? = nil
    ) throws -> LocalImageServer {
        let isFirst = Mutex(true)
        return try LocalImageServer { request in
            let breaksOff = isFirst.withLock { exchange(&$0, with: false) }
            if !breaksOff, let later { return later(request) }
            var response = ServerResponse.ok(body, contentType: "image/png")
            response.headers += headers
            if breaksOff { response.faults.closeAfterBytes = count }
            return response.conditional(on: request)
        }
    }

    private var parts: [String] {
        FileStore().files(below: directory.path).map(\.path).filter { $0.contains("/parts/") }
    }

    /// Loads in an app that loses the connection.
    private func interrupt(
        _ server: LocalImageServer,
        _ manager: ImageManager? = nil,
        _ change: (inout ImageRequest) -> Void = { _ in }
    ) async throws {
        var request = ImageRequest(url: server.url("/a"))
        change(&request)
        let manager = manager ?? self.manager()
        let error = await thrownError { try await manager.data(for: request) }
        #expect(error?.code == .transferIncomplete)
        try await settle(manager)
    }

    private func settle(_ manager: ImageManager) async throws {
        guard let store = manager.pipeline.dependencies.partialBodies else { return }
        #expect(await eventually { store.pendingWorkCount == 0 })
    }

    private static let oldDate = ("Last-Modified", "Sat, 21 Nov 2020 00:00:00 GMT")

    @Test("The rest is requested with its condition and appended, and the file goes", arguments: [true, false])
    func resumed(hasTag: Bool) async throws {
        let server = try server((hasTag ? [("ETag", "\"1\"")] : []) + [Self.oldDate, ("Cache-Control", "max-age=60")])
        try await interrupt(server)
        #expect(parts.count == 1)
        let manager = manager()
        let progress = EventLog<Int64>()
        let task = manager.loadData(
            server.url("/a"),
            on: InlineDispatcher(),
            progress: { received, _ in progress.add(received) }
        ) {
            _ in
        }
        let response = try await task.response
        #expect(response.data == Self.body && response.metrics?.cacheDecision == .resumed(1_500_000))
        #expect(response.head?.status == 206 && progress.all.allSatisfy { $0 > 1_500_000 })
        let headers = server.requests[1].headers
        #expect(headers["range"] == "bytes=1500000-" && headers["if-range"] == (hasTag ? "\"1\"" : Self.oldDate.1))
        try await settle(manager)
        #expect(parts.isEmpty && server.requests.count == 2)
    }

    @Test("A rest is that of the same version, or the whole body is loaded", arguments: 0..<7)
    func changed(kind: Int) async throws {
        let server = try server { request in
            let isRange = request.headers["range"] != nil
            var response = ServerResponse(status: isRange ? 206 : 200, headers: [("ETag", "\"1\"")], body: Self.other)
            guard isRange else {
                response.headers = [("ETag", "\"2\"")]
                return response
            }
            let rest = Data(Self.other.suffix(1_500_000))
            func part(_ range: String, _ tag: String? = "\"1\"") -> ServerResponse {
                let headers = [("Content-Range", range)] + (tag.map { [("ETag", $0)] } ?? [])
                return ServerResponse(status: 206, headers: headers, body: rest)
            }
            return switch kind {
            // The server has another version, and knows If-Range.
            case 0: ServerResponse(status: 200, headers: [("ETag", "\"2\"")], body: Self.other)
            case 1: part("bytes 1500000-2999999/3000000", "\"2\"")
            case 2: part("bytes 1500000-2999999/3000000", nil)
            case 3: part("bytes 1500001-2999999/3000000")
            case 4: part("bytes 1500000-2999998/2999999")
            case 5: part("bytes */3000000")
            default: ServerResponse(status: 416, headers: [("Content-Range", "bytes */100")])
            }
        }
        try await interrupt(server)
        let manager = manager()
        #expect(try await manager.data(for: server.url("/a")) == Self.other)
        #expect(
            server.requests.map { $0.headers["range"] != nil } == (kind == 0 ? [false, true] : [false, true, false])
        )
        try await settle(manager)
        #expect(parts.isEmpty)
    }

    @Test("A server that fails, or demands a credential, leaves the part for another time", arguments: [503, 401])
    func unavailable(status: Int) async throws {
        let isUp = EventLog<Int>()
        let server = try server { request in
            guard !isUp.all.isEmpty else { return .status(status) }
            var response = ServerResponse.ok(Self.body, contentType: "image/png")
            response.headers.append(("ETag", "\"1\""))
            return response.conditional(on: request)
        }
        try await interrupt(server)
        #expect(await thrownError { try await manager().data(for: server.url("/a")) }?.httpStatus == status)
        #expect(parts.count == 1)
        isUp.add(1)
        #expect(try await manager().data(for: server.url("/a")) == Self.body)
        #expect(
            server.requests.allSatisfy { $0.connection > 0 } && server.requests[2].headers["range"] == "bytes=1500000-"
        )
    }

    @Test("A part that is interrupted again grows, also where memory has it")
    func twice() async throws {
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(Self.body, contentType: "image/png").adding("ETag", "\"1\"")
            response = response.conditional(on: request)
            if response.body.count > 700_000 { response.faults.closeAfterBytes = 600_000 }
            return response
        }
        let first = manager()
        try await interrupt(server, first)
        try await interrupt(server, first)
        try await interrupt(server)
        let last = manager()
        try await interrupt(server, last)
        #expect(try await last.data(for: server.url("/a")) == Self.body)
        #expect(server.requests.map { $0.headers["range"] } == [nil] + (1...4).map { "bytes=\($0 * 600_000)-" })
    }

    @Test("A body that a user, a setting or the server does not want kept is not on disk", arguments: 0..<16)
    func notKept(kind: Int) async throws {
        let headers: [(String, String)] =
            switch kind {
            case 0: [("ETag", "\"1\""), ("Cache-Control", "no-store")]
            case 1: [("ETag", "\"1\""), ("Vary", "*")]
            case 2: [("ETag", "W/\"1\"")]
            case 3: [("Last-Modified", "Sat, 21 Nov 2020 00:00:00 GMT"), ("Date", "Sat, 21 Nov 2020 00:00:30 GMT")]
            case 4: [("ETag", "\"1\""), ("Accept-Ranges", "none")]
            case 5: []
            default: [("ETag", "\"1\"")]
            }
        let isSmall = kind == 6
        let server = try server(headers, count: 600_000, body: isSmall ? Self.body.prefix(1_000_000) : Self.body)
        let downloader = ImageDownloader {
            switch kind {
            case 7: $0.resumableByteCount = 0
            case 8: $0.credential = { _ in NetworkOptions.Credential(user: "u", password: "p") }
            case 9: $0.headers["authorization"] = "Bearer secret"
            case 10: $0.requestModifier = .headers(["Cookie": "session=secret"])
            default: break
            }
        }
        let manager = manager(downloader: downloader) {
            if kind == 11 { $0.cacheSerializer = CacheSerializer { _, data, _ in data } }
            if kind == 12 { $0.diskCache = nil }
        }
        try await interrupt(server, manager) {
            switch kind {
            case 13: $0.networkOptions.handlesCookies = true
            case 14: $0.cacheAccess = .memoryOnly
            case 15: $0.url = URL(string: "http://u:p@127.0.0.1:\(server.port)/a")!
            default: break
            }
        }
        #expect(parts.isEmpty)
        let files = FileManager.default.subpaths(atPath: directory.path) ?? []
        #expect(!files.contains { $0.contains("parts/") }, "\(files)")
    }

    @Test("Another request, or another place to which it leads, does not get the part", arguments: 0..<4)
    func otherRequest(kind: Int) async throws {
        let target = Mutex("/first")
        let isFirst = Mutex(true)
        let server = try LocalImageServer { request in
            if request.path == "/a" { return .redirect(to: target.withLock { $0 }) }
            let breaksOff = isFirst.withLock { exchange(&$0, with: false) }
            var response = ServerResponse.ok(breaksOff ? Self.body : Self.other, contentType: "image/png")
            response.headers += [("ETag", "\"1\""), ("Vary", "X-Size")]
            if breaksOff { response.faults.closeAfterBytes = 1_500_000 }
            return response.conditional(on: request)
        }
        try await interrupt(server) { $0.networkOptions.headers["X-Size"] = "1" }
        #expect(parts.count == 1)
        var request = ImageRequest(url: server.url("/a"))
        request.networkOptions.headers["X-Size"] = "1"
        switch kind {
        case 0: target.withLock { $0 = "/second" }
        case 1: request.networkOptions.headers["X-Size"] = "2"
        case 2: request.networkOptions.requestModifier = .headers(["X-More": "1"])
        default: request.networkOptions.headers["Authorization"] = "Bearer secret"
        }
        #expect(try await manager().data(for: request) == Self.other)
        #expect(server.requests.allSatisfy { $0.headers["range"] == nil })
    }

    @Test("A part is used for the image as well, and neither a disk that fails nor strange files disturb a load")
    func images() async throws {
        let image = TestImage.make(size: PixelSize(width: 900, height: 900)) { x, y in
            UInt32(truncatingIfNeeded: (x &* 1_103_515_245 &+ y &* 12345) ^ (x &* y &* 2_654_435)) & 0xFFFFFF
        }
        #expect(image.count > 1_500_000)
        let server = try server(body: image)
        try await interrupt(server)
        let response = try await manager().response(for: ImageRequest(url: server.url("/a")))
        #expect(response.metrics?.cacheDecision == .resumed(1_500_000) && response.image.pixelSize.width == 900)
        // A file stands where the directory would be.
        let file = "\(directory.path)/file"
        try Data().write(to: URL(filePath: file))
        let broken = try self.server()
        try await interrupt(broken, manager(in: "\(file)/cache"))
        #expect(try await manager(in: "\(file)/cache").data(for: broken.url("/a")) == Self.body)
        // Files of any kind stand in the place of parts.
        let third = try self.server()
        try await interrupt(third)
        for path in parts {
            unlink(path)
            #expect(symlink("/etc/passwd", path) == 0)
        }
        #expect(try await manager().data(for: third.url("/a")) == Self.body)
    }

    @Test("A limit of the size of files, as a full disk, keeps no load from ending")
    func limited() async throws {
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(Self.body, contentType: "image/png").adding("ETag", "\"1\"")
            response.faults.drip = (200_000, .milliseconds(2))
            return response.conditional(on: request)
        }
        let worker = BuiltProgram.path("NetworkWorker")
        let arguments = [server.url("/a").absoluteString, directory.path, "end", "0"]
        let script = "ulimit -f 1000; exec '\(worker)' part \(arguments.joined(separator: " "))"
        let result = try ChildProcess.run("bash", ["-c", script])
        #expect(result.output.contains("bytes 3000000 "), "\(result.output)")
        #expect(parts.isEmpty)
    }

    @Test("An app that is killed or quits in the middle goes on at its next start", arguments: ["kill", "exit"])
    func ended(end: String) async throws {
        let gate = ServerGate()
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(Self.body, contentType: "image/png").adding("ETag", "\"1\"")
            if request.headers["range"] == nil { response.faults.bodyGate = (2_000_000, gate) }
            return response.conditional(on: request)
        }
        let arguments = ["part", server.url("/a").absoluteString, directory.path, end, "1500000"]
        let result = try ChildProcess.run(BuiltProgram.path("NetworkWorker"), arguments)
        #expect(end == "kill" ? result.signal == SIGKILL : result.exitCode == 0, "\(result.output)")
        let downloader = ImageDownloader { $0.userAgent = "Test" }
        let response = try await manager(downloader: downloader).dataResponse(for: server.url("/a"))
        #expect(response.data == Self.body)
        let range = try #require(server.requests.last?.headers["range"])
        let start = try #require(Int(range.dropFirst(6).dropLast()))
        #expect((1_000_000...2_000_000).contains(start) && server.requests.last?.headers["if-range"] == "\"1\"")
        gate.open()
    }

    @Test("An app that is killed again and again, beside others that load the same, ends up with the right bytes")
    func killedOften() async throws {
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(Self.body, contentType: "image/png").adding("ETag", "\"1\"")
            response.faults.drip = (30_000, .milliseconds(8))
            return response.conditional(on: request)
        }
        let worker = BuiltProgram.path("NetworkWorker")
        func start(_ end: String, _ count: Int) -> EventLog<ChildProcess> {
            let arguments = ["part", server.url("/a").absoluteString, directory.path, end, "\(count)"]
            let ended = EventLog<ChildProcess>()
            Thread.detachNewThread { if let result = try? ChildProcess.run(worker, arguments) { ended.add(result) } }
            return ended
        }
        var starts: [Int] = []
        for round in 1...5 {
            let processes = [start("kill", round * 500_000), start("kill", round * 500_000)]
            for process in processes { #expect(await eventually { process.all.count == 1 }) }
            let offsets = server.requests.suffix(2).map { request in
                request.headers["range"].flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
            }
            starts.append(offsets.max() ?? 0)
        }
        // A process whose disk is too slow for its transfer leaves the part as it was.
        #expect(starts == starts.sorted() && starts.last ?? 0 >= 400_000, "\(starts)")
        let hash = Self.body.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let last = [start("end", 0), start("end", 0)]
        for process in last {
            #expect(await eventually { process.all.count == 1 })
            #expect(process.all.first?.output.contains("bytes 3000000 \(hash)") == true, "\(process.all)")
        }
    }
}

extension ServerResponse {
    fileprivate func adding(_ name: String, _ value: String) -> ServerResponse {
        var response = self
        response.headers.append((name, value))
        return response
    }
}

private func exchange(_ value: inout Bool, with new: Bool) -> Bool {
    defer { value = new }
    return value
}
