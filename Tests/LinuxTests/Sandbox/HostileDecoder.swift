internal import CHostileCalls
import FoundationEssentials
import Glibc
import Synchronization
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Runs in the decode workers that the tests start, before they take any file.
@_cdecl("gwi_worker_will_start")
public func addHostileDecoder() {
    DecodeWorkerProcess.addedDecoders = [HostileDecoder()]
}

/// A decoder that a file has taken over: it does what the file says.
struct HostileDecoder: ImageDecoding {
    static let format = ImageFormat(rawValue: "hostile")
    private static let signature = "HOSTILE "
    private static let threadMark = " on a thread"
    /// The files that were decoded in this process.
    static let decodeCount = Mutex(0)

    /// What a decoder that is taken over may try.
    enum Attempt: String, CaseIterable {
        case openFile, writeFile, listDirectory, statFile, socket, connect, fork, spawn, exec, killApp, attachToApp,
            readApp, mapCode,
            shareMemory, changeLimits, setUser, thread
        case crash, trap, abort, loop, exit, exhaustMemory, closeSocket, closeSocketAndStay, lie, killItself
        case claimUnavailable, manyThreads
        // What becomes of the files that the worker gets later.
        case crashLater, loopLater, lieLater, refuseLater
    }

    /// What a file has made of the worker.
    nonisolated(unsafe) private static var grudge: Attempt?

    /// - Parameter onThread: Whether the attempt is made on a thread that the decoder starts, as those of AVIF and drawings do.
    static func file(_ attempt: Attempt, onThread: Bool = false) -> Data {
        Data("\(signature)\(attempt.rawValue)\(onThread ? threadMark : "")".utf8)
    }

    func canDecode(_ format: ImageFormat) -> Bool { format == Self.format || Self.grudge != nil }

    func canDecode(_ head: Data, format: ImageFormat) -> Bool {
        head.starts(with: Self.signature.utf8) || Self.grudge != nil
    }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        switch Self.grudge {
        case nil: break
        case .crashLater: _ = run(.crash)
        case .loopLater: _ = run(.loop)
        case .lieLater: _ = run(.lie)
        default: throw options.badData("I do not like it")
        }
        let text = String(decoding: data.dropFirst(Self.signature.utf8.count), as: UTF8.self)
        guard let attempt = Attempt(rawValue: text.replacing(Self.threadMark, with: "")) else {
            throw options.badData("no attempt")
        }
        Self.decodeCount.withLock { $0 += 1 }
        errno = 0
        if attempt == .claimUnavailable {
            throw ImageError(.decoderUnavailable, url: nil, reason: "I am not here", remedy: "Decode it yourself.")
        }
        let succeeds = text.hasSuffix(Self.threadMark) ? try runOnThread(attempt) : run(attempt)
        // The width says whether it was let through, and the height why not.
        return try image(PixelSize(width: succeeds ? 2 : 1, height: max(1, Int(errno))))
    }

    private func runOnThread(_ attempt: Attempt) throws(ImageError) -> Bool {
        let ends = EventLog<(succeeds: Bool, code: Int32)>()
        let code = startDetachedThread { ends.add((run(attempt), errno)) }
        guard code == 0, ends.wait(until: { !$0.isEmpty }) else {
            throw DecodeOptions().badData("There is no thread")
        }
        errno = ends.all[0].code
        return ends.all[0].succeeds
    }

    private func image(_ size: PixelSize) throws(ImageError) -> WebImage {
        guard
            let pixels = PixelBuffer(
                size: size,
                format: .rgb,
                fill: { $0.initializeMemory(as: UInt8.self, repeating: 7) }
            )
        else { throw DecodeOptions().outOfMemory(size) }
        return WebImage(pixels: pixels)
    }

    /// - Returns: Whether the attempt was let through.
    private func run(_ attempt: Attempt) -> Bool {
        switch attempt {
        case .openFile: return open("/etc/passwd", O_RDONLY) >= 0
        case .writeFile: return open("/tmp/taken-over", O_WRONLY | O_CREAT, 0o600) >= 0
        case .listDirectory: return opendir("/") != nil
        case .statFile:
            var status = stat()
            return stat("/etc/passwd", &status) == 0
        case .socket: return socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) >= 0
        case .connect:
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            return withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(3, $0, 110) }
            } == 0
        case .fork: return try_fork()
        case .spawn:
            var process = pid_t()
            return posix_spawn(&process, "/bin/true", nil, nil, [nil], [nil]) == 0
        case .exec: return execv("/bin/true", [nil]) == 0
        case .killApp: return kill(getppid(), SIGCONT) == 0
        case .attachToApp: return try_to_attach(getppid())
        case .readApp: return open("/proc/\(getppid())/mem", O_RDWR) >= 0
        case .mapCode: return mmap(nil, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED
        case .shareMemory: return shm_open("/taken-over", O_RDWR | O_CREAT, 0o600) >= 0
        case .changeLimits: return try_to_raise_limits()
        case .setUser: return setuid(1000) == 0
        case .thread: return startDetachedThread {} == 0
        case .crash:
            UnsafeMutablePointer<UInt8>(bitPattern: 16)!.pointee = 1
            return true
        case .trap: fatalError("taken over")
        case .abort: Glibc.abort()
        case .loop:
            while true { if Int32.random(in: 0...1) > 1 { return true } }
        case .exit: Glibc.exit(0)
        case .exhaustMemory:
            // 8 GB, in pieces.
            for _ in 0..<128 {
                guard let memory = malloc(64 << 20) else { return false }
                memset(memory, 1, 64 << 20)
            }
            return true
        case .closeSocket:
            close(3)
            return true
        case .closeSocketAndStay:
            close(3)
            while true { usleep(100_000) }
        case .manyThreads:
            var attributes = pthread_attr_t()
            pthread_attr_init(&attributes)
            pthread_attr_setstacksize(&attributes, 64 << 10)
            var thread = pthread_t()
            return (0..<400).allSatisfy { _ in
                pthread_create(&thread, &attributes, { _ in while true { usleep(100_000) } }, nil) == 0
            }
        case .crashLater, .loopLater, .lieLater, .refuseLater:
            Self.grudge = attempt
            return false
        case .lie: return lie()
        case .claimUnavailable: return false
        case .killItself: return raise(SIGKILL) == 0
        }
    }

    /// Answers before the library does, with nonsense.
    private func lie() -> Bool {
        let nonsense = [UInt8](repeating: 0xFF, count: 300)
        return write(3, nonsense, nonsense.count) > 0
    }
}
