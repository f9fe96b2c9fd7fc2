internal import CWebImageSandboxShims
import FoundationEssentials
import Glibc
import Synchronization
import WebImageCore

/// A decode worker as the app sees it: a process that receives files and returns pixels. Nothing else that it says is trusted.
///
/// @unchecked: one thread at a time uses a worker (``WorkerPool``), except for `forget(_:)`, which sends under a lock.
final class DecodeWorker: @unchecked Sendable {
    /// Why a worker has not answered. After any failure but `notSent`, the worker is not used again.
    enum Failure: Error {
        /// The worker was never ready (see ``DecodeWorker/obstacle``), or ended before it read the command.
        case notStarted
        /// The worker ended, by a signal or by itself (0).
        case ended(signal: Int32)
        /// - hadTime: Whether the worker has used all of its processor time.
        case timedOut(hadTime: Bool)
        case cancelled
        /// The worker rejects a file and has seen other files before, which may be the cause.
        case doubtful
        /// The worker sent a malformed message.
        case malformed
        /// This process cannot send the bytes, because memory, descriptors or the file size limit are exhausted: the
        /// error number of the system call.
        case notSent(Int32)
    }

    /// The processor time after which a worker counts as hanging, and the total time in which it must get that time.
    typealias TimeLimits = (processor: Duration, total: Duration)

    /// The pixels that came with an answer, and the durations that follow them.
    struct Payload {
        let pixels: PixelBuffer
        let durations: [Duration]
    }

    /// Identifies the worker as long as the app runs.
    let number: UInt64
    private let worker: WorkerZygote.Worker
    let memory: SharedMemory
    /// Whether the socket is open, and the number of files that the worker keeps.
    private let link = Mutex((isOpen: true, keptCount: 0))
    /// Receives the messages of the worker.
    let buffer: UnsafeMutableRawBufferPointer
    /// The rights that the worker has given up; `nil` until it has reported them.
    private(set) var fence: DecodeAnswer.Fence?
    /// The number of files that the worker has seen.
    var fileCount = 0
    private let kind: WorkerKind
    private let zygote: WorkerZygote
    /// Why the worker was never ready.
    private(set) var obstacle = "The worker ended before it was ready"
    /// Whether the worker was killed before it was ready.
    private(set) var wasKilled = false

    /// - Parameter number: Identifies the worker among others.
    init(_ worker: WorkerZygote.Worker, of zygote: WorkerZygote, _ kind: WorkerKind, number: UInt64) {
        (self.worker, self.zygote, self.kind, self.number) = (worker, zygote, kind, number)
        memory = SharedMemory(worker.memory, byteCount: SharedMemory.byteCount)
        buffer = .allocate(byteCount: WorkerMessage.largestSize, alignment: 16)
    }

    deinit {
        end()
        buffer.deallocate()
        munmap(memory.toWorker.baseAddress, SharedMemory.byteCount)
    }

    var process: pid_t { worker.process }

    /// The program that the worker runs.
    var program: String { worker.program }

    var socket: Int32 { worker.socket }

    /// Whether the worker accepts no further files, so that a malicious file can affect only a few others.
    var isWornOut: Bool { fileCount >= Self.mostFiles }

    /// Whether the worker keeps arriving files or animations, which would start again in another worker.
    var keepsFiles: Bool { link.withLock { $0.keptCount } > 0 }

    /// Whether the worker must end, because it accepts no further files and keeps none.
    var isDone: Bool { isWornOut && !keepsFiles }

    private var processorTime: Duration? {
        var (clock, time) = (clockid_t(), timespec())
        guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else { return nil }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// The fence of modules allows threads, and the kernel limits only the number of threads of the user.
    var hasTooManyThreads: Bool {
        var status = stat()
        return kind != .codecs && stat("/proc/\(process)/task", &status) == 0 && status.st_nlink > Self.mostThreads
    }

    /// Ends the process. Returns the signal that had ended it before, or 0.
    @discardableResult
    func end(hasEnded: Bool = false) -> Int32 {
        let isFirst = link.withLock { link in
            defer { link.isOpen = false }
            if link.isOpen { close(socket) }
            return link.isOpen
        }
        guard isFirst else { return 0 }
        return zygote.end(worker, waits: hasEnded)
    }

    /// Waits until the worker is behind its fence.
    func waitUntilReady() throws(Failure) {
        guard fence == nil else { return }
        do throws(Failure) {
            try wait(for: POLLIN, within: (Self.longestStart, Self.longestStart * 4)) { false }
            guard case (.ready(let fence), nil) = try receive(.none) else { throw .malformed }
            if let missing = kind.missing(in: fence) {
                obstacle = missing
                throw .notStarted
            }
            self.fence = fence
        } catch {
            switch error {
            case .timedOut: obstacle = "The worker was not ready within \(Self.longestStart)"
            case .ended(SIGKILL): wasKilled = true
            default: break
            }
            throw .notStarted
        }
    }

    /// Sends a command and waits for the answer.
    /// - Parameters:
    ///   - data: The file, or the part of it, that goes with the command.
    ///   - isCancelled: Called several times a second.
    func perform(
        _ command: DecodeCommand,
        _ data: Data? = nil,
        within limits: TimeLimits,
        isCancelled: () -> Bool
    ) throws(Failure) -> (DecodeAnswer, Payload?) {
        try waitUntilReady()
        var command = command
        command.byteCount = data?.count
        let file = data.flatMap { MappedFiles.descriptor(of: $0) }
        command.carrier =
            file == nil ? WorkerCarrier(byteCount: data?.count ?? 0, room: memory.toWorker.count) : .file
        let message = command.message
        while true {
            let isSent =
                data.map { data in
                    data.withUnsafeBytes { send(message, [$0], in: command.carrier, file: file) }
                } ?? send(message, [], in: .message)
            if isSent { break }
            switch errno {
            // The worker has not read yet which files to forget, or no longer reads anything.
            case EAGAIN: try wait(for: POLLOUT, within: limits, isCancelled: isCancelled)
            case EPIPE, ECONNRESET: throw .notStarted
            default: throw .notSent(errno)
            }
        }
        try wait(for: POLLIN, within: limits, isCancelled: isCancelled)
        return try receive(command.limit ?? DecodeAnswer.Limit(command.options))
    }

    private func send(
        _ message: [UInt8],
        _ bytes: [UnsafeRawBufferPointer],
        in carrier: WorkerCarrier,
        file: Int32? = nil
    ) -> Bool {
        WorkerMessage.send(message, bytes, in: carrier, file: file, memory: memory.toWorker, waits: false, on: socket)
    }

    /// Records that the worker keeps a file, until ``forget(_:)``.
    func keep() { link.withLock { $0.keptCount += 1 } }

    /// Makes the worker forget a file. Any thread may call it.
    func forget(_ handle: UInt64) {
        let message = DecodeCommand(.close, handle: handle).message
        link.withLock { link in
            link.keptCount -= 1
            // A worker that is not reading keeps the file until it ends.
            guard link.isOpen else { return }
            _ = send(message, [], in: .message)
        }
    }

    private func wait(
        for event: Int32,
        within limits: TimeLimits,
        isCancelled: () -> Bool
    ) throws(Failure) {
        // The time that the machine sleeps does not count.
        let start = SuspendingClock.now
        var usedBefore: Duration?
        while true {
            var descriptor = pollfd(fd: socket, events: Int16(event), revents: 0)
            let count = poll(&descriptor, 1, Self.pollInterval)
            if count > 0 { return }
            if count < 0, errno != EINTR { throw .malformed }
            let used = processorTime
            if let used, let usedBefore, used - usedBefore >= limits.processor { throw .timedOut(hadTime: true) }
            if SuspendingClock.now - start >= limits.total { throw .timedOut(hadTime: false) }
            if hasTooManyThreads { throw .malformed }
            if isCancelled() { throw .cancelled }
            usedBefore = usedBefore ?? used
        }
    }

    /// The processor time after which a start counts as failed.
    private static let longestStart = Duration.seconds(5)
    /// The largest number of files that a worker sees.
    private static let mostFiles = 64
    /// The largest number of links of the directory of a worker's threads. AVIF decoders start a thread for each processor.
    private static let mostThreads = 256
    /// The interval in milliseconds for checking whether the image is still wanted.
    private static let pollInterval: Int32 = 100
}
