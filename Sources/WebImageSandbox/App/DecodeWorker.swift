internal import CWebImageSandboxShims
import FoundationEssentials
import Glibc
import Synchronization
import WebImageCore

/// A decode worker as the app sees it: a process that takes files and returns pixels, and whose word counts for nothing else.
///
/// @unchecked: one thread at a time has a worker (``WorkerPool``), but for `forget(_:)`, which sends under a lock.
final class DecodeWorker: @unchecked Sendable {
    /// Why a worker has not answered. It is of no use any more, but for `notSent`.
    enum Failure: Error {
        /// It has never been ready, for ``DecodeWorker/obstacle``.
        case notStarted
        /// It has ended, by a signal or by itself (0).
        case ended(signal: Int32)
        case timedOut
        case cancelled
        /// It says what no worker says.
        case malformed
        /// This process cannot hand the bytes over, for want of memory, of descriptors or of large files: the error number of the
        /// system call.
        case notSent(Int32)
    }

    /// The pixels that came with an answer, and the durations behind them.
    struct Payload {
        let pixels: PixelBuffer
        let durations: [Duration]
    }

    /// Tells workers apart for as long as the app runs.
    let number: UInt64
    private let worker: WorkerZygote.Worker
    private let memory: SharedMemory
    private let isOpen = Mutex(true)
    private let buffer: UnsafeMutableRawBufferPointer
    /// What it has given up; `nil` until it has said so.
    private(set) var fence: DecodeAnswer.Fence?
    private var commandCount = 0
    private let kind: WorkerKind
    private let zygote: WorkerZygote
    /// Why it was never ready.
    private(set) var obstacle = "The worker ended before it was ready"

    /// - Parameter number: Tells it from other workers.
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

    /// The program that the worker is made of.
    var program: String { worker.program }

    private var socket: Int32 { worker.socket }

    /// Whether the worker has used a processor for so long that its limit could end it in the middle of an image.
    var isWornOut: Bool {
        guard commandCount.isMultiple(of: 64) else { return false }
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else { return false }
        return time.tv_sec > Int(GWI_WORKER_CPU_SECONDS) / 2
    }

    /// Ends the process. Returns the signal by which it has ended before, or 0.
    @discardableResult
    func end(hasEnded: Bool = false) -> Int32 {
        let isFirst = isOpen.withLock { isOpen in
            defer { isOpen = false }
            if isOpen { close(socket) }
            return isOpen
        }
        guard isFirst else { return 0 }
        return zygote.end(worker, waits: hasEnded)
    }

    /// Waits until the worker is behind its fence.
    func waitUntilReady() throws(Failure) {
        guard fence == nil else { return }
        do throws(Failure) {
            try wait(for: POLLIN, until: .now + Self.longestStart) { false }
            guard case (.ready(let fence), nil) = try receive(.none) else { throw .malformed }
            if let missing = kind.missing(in: fence) {
                obstacle = missing
                throw .notStarted
            }
            self.fence = fence
        } catch {
            if case .timedOut = error { obstacle = "The worker was not ready within \(Self.longestStart)" }
            throw .notStarted
        }
    }

    /// Sends a command and waits for the answer.
    /// - Parameters:
    ///   - data: The file, or the part of it, that goes with the command.
    ///   - limit: The time after which the worker counts as hanging.
    ///   - isCancelled: Called several times a second.
    func perform(
        _ command: DecodeCommand,
        _ data: Data? = nil,
        limit: Duration,
        isCancelled: () -> Bool
    ) throws(Failure) -> (DecodeAnswer, Payload?) {
        try waitUntilReady()
        commandCount += 1
        var command = command
        command.byteCount = data?.count
        let file = data.flatMap { MappedFiles.descriptor(of: $0) }
        command.carrier =
            file == nil ? WorkerCarrier(byteCount: data?.count ?? 0, room: memory.toWorker.count) : .file
        let message = command.message
        let deadline = ContinuousClock.now + limit
        while true {
            let isSent =
                data.map { data in
                    data.withUnsafeBytes { send(message, [$0], in: command.carrier, file: file) }
                } ?? send(message, [], in: .message)
            if isSent { break }
            switch errno {
            // It has not read yet which files to forget, or it reads nothing any more.
            case EAGAIN: try wait(for: POLLOUT, until: deadline, isCancelled: isCancelled)
            case EPIPE, ECONNRESET: throw .ended(signal: end(hasEnded: true))
            default: throw .notSent(errno)
            }
        }
        try wait(for: POLLIN, until: deadline, isCancelled: isCancelled)
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

    /// Lets the worker forget a file. May be called by any thread.
    func forget(_ handle: UInt64) {
        let message = DecodeCommand(.close, handle: handle).message
        isOpen.withLock { isOpen in
            // A worker that does not listen at the moment keeps the file until it ends.
            guard isOpen else { return }
            _ = send(message, [], in: .message)
        }
    }

    private func wait(
        for event: Int32,
        until deadline: ContinuousClock.Instant,
        isCancelled: () -> Bool
    ) throws(Failure) {
        while true {
            var descriptor = pollfd(fd: socket, events: Int16(event), revents: 0)
            let count = poll(&descriptor, 1, Self.pollInterval)
            if count > 0 { return }
            if count < 0, errno != EINTR { throw .malformed }
            if ContinuousClock.now > deadline { throw .timedOut }
            if isCancelled() { throw .cancelled }
        }
    }

    private func receive(_ limit: DecodeAnswer.Limit) throws(Failure) -> (DecodeAnswer, Payload?) {
        var file: Int32 = -1
        let count = gwi_message_receive(socket, buffer.baseAddress, buffer.count, &file, 1)
        defer { if file >= 0 { close(file) } }
        guard count > 0 else {
            guard count == 0 || errno == ECONNRESET else { throw .malformed }
            throw .ended(signal: end(hasEnded: true))
        }
        let message = UnsafeRawBufferPointer(rebasing: buffer[..<count])
        do {
            return try WorkerAnswer.read(message, limit, file: file, memory: UnsafeRawBufferPointer(memory.toApp))
        } catch {
            throw .malformed
        }
    }

    /// The time after which a start counts as failed. A machine that swaps may take seconds.
    private static let longestStart = Duration.seconds(15)
    /// Milliseconds between two looks at whether the image is still wanted.
    private static let pollInterval: Int32 = 100
}
