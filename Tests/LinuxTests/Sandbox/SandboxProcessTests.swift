import Foundation
import Glibc
import Synchronization
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageFormats
@testable import WebImageLinux
@testable import WebImageSandbox

/// The life of the processes in which images are decoded.
@Suite("The processes of the sandbox", .blocking, .serialized)
struct SandboxProcessTests {
    private static let size = PixelSize(width: 300, height: 200)

    private func coders(_ sandbox: DecodeSandbox) -> CoderRegistry {
        .builtIn(adding: [], sandbox: (sandbox, isOptional: false))
    }

    private func isRunning(_ process: Int32) -> Bool { kill(process, 0) == 0 }

    @Test("Workers that are killed in the middle of 500 images lose none") func killed() throws {
        let sandbox = DecodeSandbox(limit: 2)
        let coders = coders(sandbox)
        let data = TestImage.quarters(size: Self.size, format: .jpeg)
        let decoded = Mutex(0)
        let isDone = Mutex(false)
        // Kills all workers whenever 50 more images are there.
        let killer = Thread {
            var last = 0
            while !isDone.withLock({ $0 }) {
                let count = decoded.withLock { $0 }
                if count >= last + 50 {
                    last = count
                    for process in sandbox.processes { kill(process, SIGKILL) }
                }
                usleep(500)
            }
        }
        killer.start()
        defer { isDone.withLock { $0 = true } }
        let failures = Mutex<[ImageError]>([])
        DispatchQueue.concurrentPerform(iterations: 500) { _ in
            do throws(ImageError) {
                let image = try coders.decode(data)
                if image.pixelSize == Self.size { decoded.withLock { $0 += 1 } }
            } catch {
                failures.withLock { $0.append(error) }
            }
        }
        #expect(failures.withLock { $0 }.map(\.description) == [])
        #expect(decoded.withLock { $0 } == 500)
    }

    @Test("Neither descriptors nor processes are left behind by 10,000 images") func leaks() throws {
        let sandbox = DecodeSandbox(limit: 2)
        let coders = coders(sandbox)
        // One travels in a message and the other in shared memory.
        let small = TestImage.quarters(size: PixelSize(width: 16, height: 16), format: .png)
        let large = TestImage.quarters(size: PixelSize(width: 200, height: 150), format: .png)
        _ = try coders.decode(large)
        let before = descriptorCount(of: try #require(sandbox.processes.first))
        DispatchQueue.concurrentPerform(iterations: 10_000) { index in
            _ = try? coders.decode(index % 4 == 0 ? large : small)
        }
        #expect(sandbox.processes.count <= 2)
        #expect(sandbox.processes.allSatisfy { descriptorCount(of: $0) <= before })
    }

    @Test("What a file does to a worker reaches few others: it is soon replaced") func renewal() throws {
        let sandbox = DecodeSandbox(limit: 1)
        let coders = coders(sandbox)
        let data = TestImage.quarters(size: Self.size, format: .png)
        var processes: Set<Int32> = []
        for _ in 0..<128 {
            _ = try coders.decode(data)
            processes.formUnion(sandbox.processes)
        }
        #expect(processes.count == 2 && sandbox.processes == [])
    }

    @Test("Workers that were replaced while they kept an animation end with it") func renewalWithAnimations() throws {
        let sandbox = DecodeSandbox(limit: 1)
        let coders = coders(sandbox)
        let file = TestImage.animation([0xFF0000, 0x00FF00], size: Self.size, format: .gif)
        for _ in 0..<256 {
            let decoder = try coders.decode(file).animation?.makeDecoder()
            _ = try decoder?.frame(at: 1)
        }
        // One decodes images, and one frames.
        #expect(sandbox.processes.count <= 2)
    }

    @Test(
        "A worker that ends or hangs while it has nothing to do costs no image",
        arguments: [SIGTERM, SIGSEGV, SIGABRT, SIGHUP, SIGKILL, SIGSTOP]
    )
    func idleWorkersEnd(signal: Int32) throws {
        let sandbox = DecodeSandbox(limit: 1, timeLimit: .seconds(1))
        let data = TestImage.quarters(size: Self.size, format: .png)
        sandbox.prepare()
        for _ in 0..<3 {
            for process in sandbox.processes { kill(process, signal) }
            #expect(try coders(sandbox).decode(data).pixelSize == Self.size)
        }
    }

    /// A program that runs a script before it becomes one of workers.
    private func program(_ script: String, in folder: TemporaryDirectory) throws -> String {
        let path = "\(folder.path)/program"
        try "#!/bin/sh\n\(script)\nexec '\(BuiltProgram.path("SandboxedApp"))'\n"
            .write(toFile: path, atomically: false, encoding: .utf8)
        chmod(path, 0o755)
        return path
    }

    private func decode(_ data: Data, from url: String, _ sandbox: DecodeSandbox) throws(ImageError) -> WebImage {
        let coders = CoderRegistry.builtIn(adding: [], sandbox: (sandbox, isOptional: true))
        return try coders.decode(data, options: DecodeOptions(url: URL(string: url)))
    }

    @Test("Starts that are killed are tried again, and move no image of a stranger into the process of the app")
    func killedStarts() throws {
        let folder = TemporaryDirectory()
        let data = TestImage.quarters(size: Self.size, format: .png)
        let count = "printf x >> '\(folder.path)/starts'; [ $(wc -c < '\(folder.path)/starts') -gt 2 ]"
        let some = DecodeSandbox(paths: [try program("\(count) || kill -9 $$", in: folder)], limit: 1)
        #expect(try decode(data, from: "https://host/a.png", some).pixelSize == Self.size)
        #expect(some.processes.count == 1)
        let all = DecodeSandbox(paths: [try program("kill -9 $$", in: folder)], limit: 1)
        let error = #expect(throws: ImageError.self) { try decode(data, from: "https://host/a.png", all) }
        #expect(error?.code == .decoderUnavailable && error?.isTransient == true && error?.isPermanent == false)
        #expect(all.status.reason?.contains("killed") == true, "\(all.status)")
        #expect(try decode(data, from: "file:///a.png", all).pixelSize == Self.size)
    }

    @Test("Once workers of one kind have started, no image of a stranger is decoded in the process of the app")
    func oneKind() throws {
        let folder = TemporaryDirectory()
        let program = try program("[ $GWI_DECODE_WORKER = 3:0 ] || exit 1", in: folder)
        let sandbox = DecodeSandbox(paths: [program], limit: 1)
        let svg = Data("<svg xmlns='http://www.w3.org/2000/svg' width='20' height='10'/>".utf8)
        _ = try decode(TestImage.quarters(size: Self.size, format: .png), from: "https://host/a.png", sandbox)
        #expect(sandbox.status.isSandboxed && sandbox.status.reason == nil)
        // Where gdk-pixbuf has processes of its own, a drawing needs no worker.
        guard !PixbufCoder.drawsElsewhere else { return }
        for _ in 0..<4 {
            let error = #expect(throws: ImageError.self) { try decode(svg, from: "https://host/a.svg", sandbox) }
            #expect(error?.code == .decoderUnavailable)
        }
        #expect(sandbox.status.isSandboxed && sandbox.status.reason != nil)
        #expect(try decode(svg, from: "file:///a.svg", sandbox).format == .svg)
    }

    /// The descriptors of another process of this user.
    private func descriptorCount(of process: Int32) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd"))?.count ?? 0
    }

    @Test("Workers end with their sandbox, and when they have nothing to do") func ends() throws {
        var processes: [Int32] = []
        do {
            let sandbox = DecodeSandbox(limit: 1)
            let coders = coders(sandbox)
            let data = TestImage.quarters(size: Self.size, format: .png)
            _ = try coders.decode(data)
            processes = sandbox.processes
            sandbox.endIdleWorkers()
            #expect(!isRunning(try #require(processes.first)))
            #expect(sandbox.processes.isEmpty)
            _ = try coders.decode(data)
            processes = sandbox.processes
            #expect(isRunning(try #require(processes.first)))
        }
        #expect(!isRunning(processes[0]))
    }

    @Test("An animation goes on in another worker when its own is killed") func animation() throws {
        let sandbox = DecodeSandbox(limit: 1)
        let entry = try #require(
            ConformanceTests.entries.first { $0.file.hasSuffix(".gif") && $0.file.contains("anim") }
        )
        let data = try ConformanceTests.data(entry.file)
        let image = try coders(sandbox).decode(data)
        let frames = try #require(image.animation?.makeDecoder())
        let expected = try #require(CoderRegistry.builtIn.decode(data).animation?.makeDecoder())
        for index in 0..<image.frameCount {
            #expect(try frames.frame(at: index).straightAlpha == expected.frame(at: index).straightAlpha)
            for process in sandbox.processes { kill(process, SIGKILL) }
        }
    }

    @Test("A frame far along an animation is reached in steps, between which a worker serves others")
    func steps() throws {
        let sandbox = DecodeSandbox(limit: 1)
        let count = 200
        let image = try coders(sandbox).decode(Bomb.layers(count))
        let frames = try #require(image.animation?.makeDecoder() as? SandboxedFrames)
        var reached: [Int] = []
        while reached.last != count - 1 {
            reached.append(try frames.frame(towards: count - 1) { false }.index)
        }
        #expect(reached.count > 1 && zip(reached, reached.dropFirst()).allSatisfy { $0 < $1 })
        // Asked for no less than the frame, it goes all the way, backwards as well.
        for index in [150, count - 1] { #expect(try frames.frame(at: index).size == image.pixelSize) }
    }

    @Test("A worker has limits for what it maps, and for what it writes to files in memory") func limits() throws {
        let sandbox = DecodeSandbox(limit: 1)
        _ = try coders(sandbox).decode(TestImage.quarters(size: Self.size, format: .png))
        let process = try #require(sandbox.processes.first)
        let text = try String(contentsOfFile: "/proc/\(process)/limits", encoding: .utf8)
        for name in ["Max file size", "Max address space", "Max open files", "Max cpu time"] {
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name) })
            #expect(!line.contains("unlimited"), "\(name)")
            if name == "Max open files" { #expect(line.split(whereSeparator: \.isWhitespace).contains("5")) }
        }
    }

    @Test("Without workers, images fail or are decoded in the process of the app, as the manager is configured")
    func unavailable() throws {
        let sandbox = DecodeSandbox(paths: ["/bin/false"], limit: 2)
        let data = TestImage.quarters(size: Self.size, format: .png)
        for _ in 0..<4 {
            let error = #expect(throws: ImageError.self) { try coders(sandbox).decode(data) }
            #expect(error?.code == .decoderUnavailable)
        }
        #expect(!sandbox.status.isSandboxed && sandbox.status.reason != nil)
        let optional = CoderRegistry.builtIn(adding: [], sandbox: (sandbox, isOptional: true))
        #expect(try optional.decode(data).pixelSize == Self.size)
    }

    @Test("An app that is killed takes its processes along") func killedApp() throws {
        let files = TemporaryDirectory()
        let path = files.path + "/image.png"
        try TestImage.quarters(size: Self.size, format: .png).write(to: URL(filePath: path))
        // It prints its processes and kills itself.
        let result = try ChildProcess.run(BuiltProgram.path("SandboxedApp"), ["--killed", path])
        #expect(result.signal == SIGKILL, "\(result.output)")
        let processes = result.output.split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
        #expect(processes.count >= 2, "\(result.output)")
        #expect(EventLog<Int>.poll { processes.allSatisfy { !isRunning($0) } })
    }

    @Test("A zygote that is killed is replaced, with its workers, and no image is lost") func killedZygote() throws {
        let sandbox = DecodeSandbox(limit: 2)
        let coders = coders(sandbox)
        let data = TestImage.quarters(size: Self.size, format: .png)
        _ = try coders.decode(data)
        let (worker, zygote) = (try #require(sandbox.processes.first), try #require(sandbox.zygoteProcesses.first))
        kill(zygote, SIGKILL)
        for _ in 0..<3 { #expect(try coders.decode(data).pixelSize == Self.size) }
        #expect(EventLog<Int>.poll { !isRunning(worker) })
        // Where the kernel was slow to end the worker, it has decoded the images above.
        #expect(try coders.decode(data).pixelSize == Self.size)
        #expect(try #require(sandbox.zygoteProcesses.first) != zygote)
        #expect(!sandbox.processes.contains(worker))
    }

    @Test("A program that cannot become a worker costs no image where this process may decode") func notStarted() throws
    {
        for path in ["/bin/false", "/nowhere", "/bin/cat"] {
            let sandbox = DecodeSandbox(paths: [path], limit: 2)
            let coders = CoderRegistry.builtIn(adding: [], sandbox: (sandbox, isOptional: true), neverHere: [.svg])
            let data = TestImage.quarters(size: Self.size, format: .png)
            for _ in 0..<3 { #expect(try coders.decode(data).pixelSize == Self.size, "\(path)") }
            // A drawing from the network is not decoded here. Where gdk-pixbuf has processes of its own, it needs no worker.
            guard !PixbufCoder.drawsElsewhere else { continue }
            let svg = Data("<svg xmlns='http://www.w3.org/2000/svg' width='20' height='10'/>".utf8)
            let error = #expect(throws: ImageError.self) {
                try coders.decode(svg, options: DecodeOptions(url: URL(string: "https://host/a.svg")))
            }
            #expect(error?.code == .decoderUnavailable)
            #expect(try coders.decode(svg, options: DecodeOptions(url: URL(filePath: "/a.svg"))).format == .svg)
        }
    }

    @Test("Neither workers nor zygotes are kept that have nothing to do") func idle() throws {
        let sandbox = DecodeSandbox(limit: 2)
        _ = try coders(sandbox).decode(TestImage.quarters(size: Self.size, format: .png))
        let zygote = try #require(sandbox.zygoteProcesses.first)
        #expect(isRunning(zygote))
        sandbox.endIdleWorkers()
        #expect(sandbox.zygoteProcesses == [] && sandbox.processes == [])
        #expect(!isRunning(zygote))
    }
}
