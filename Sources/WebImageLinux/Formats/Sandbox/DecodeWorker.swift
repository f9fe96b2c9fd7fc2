internal import CWebImageShims
import FoundationEssentials
import Glibc
import Synchronization
import WebImageCore

/// A decode worker as the app sees it: a process that takes files and returns pixels, and whose word counts for nothing else.
///
/// @unchecked: one thread at a time has a worker (``WorkerPool``), but for `forget(_:)`, which sends under a lock.
final class DecodeWorker: @unchecked Sendable {
    /// Why a worker has not answered. It is of no use any more, but for `noMemory`.
    enum Failure: Error {
        /// It has ended, by a signal or by itself (0).
        case ended(signal: Int32)
        case timedOut
        case cancelled
        /// It says what no worker says.
        case malformed
        /// This process has no memory for the bytes.
        case noMemory
    }

    /// The pixels that came with an answer, and the durations behind them.
    struct Payload {
        let pixels: PixelBuffer
        let durations: [Duration]
    }

    /// Tells workers apart for as long as the app runs.
    let number: UInt64
    let process: pid_t
    private let socket: Int32
    private let isOpen = Mutex(true)
    private let buffer: UnsafeMutableRawBufferPointer
    /// What it has given up; `nil` until it has said so.
    private(set) var fence: DecodeAnswer.Fence?

    /// Starts a worker.
    /// - Parameter path: The program.
    init?(_ path: String, number: UInt64) {
        var socket: Int32 = -1
        process = gwi_worker_start(path, &socket)
        guard process > 0 else { return nil }
        self.number = number
        self.socket = socket
        buffer = .allocate(byteCount: WorkerMessage.largestSize, alignment: 16)
    }

    deinit {
        end()
        buffer.deallocate()
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
        return hasEnded ? gwi_worker_wait(process) : gwi_worker_end(process)
    }

    /// Waits until the worker is behind its fence.
    func waitUntilReady() throws(Failure) {
        guard fence == nil else { return }
        try wait(limit: Self.longestStart) { false }
        guard case (.ready(let fence), nil) = try receive() else { throw .malformed }
        self.fence = fence
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
        var command = command
        command.byteCount = data?.count
        command.isInline = (data?.count ?? 0) <= WorkerMessage.largestInline
        var writer = MessageWriter()
        command.write(to: &writer)
        let isSent =
            data.map { data in
                data.withUnsafeBytes {
                    WorkerMessage.send(writer.bytes, [$0], isInline: command.isInline, on: socket)
                }
            } ?? WorkerMessage.send(writer.bytes, [], isInline: true, on: socket)
        if !isSent { throw errno == EPIPE || errno == ECONNRESET ? .ended(signal: end(hasEnded: true)) : .noMemory }
        try wait(limit: limit, isCancelled: isCancelled)
        return try receive()
    }

    /// Lets the worker forget a file. May be called by any thread.
    func forget(_ handle: UInt64) {
        var writer = MessageWriter()
        DecodeCommand(.close, handle: handle).write(to: &writer)
        isOpen.withLock { isOpen in
            // A worker that does not listen at the moment keeps the file until it ends.
            if isOpen { _ = WorkerMessage.send(writer.bytes, [], isInline: true, waits: false, on: socket) }
        }
    }

    private func wait(limit: Duration, isCancelled: () -> Bool) throws(Failure) {
        let deadline = ContinuousClock.now + limit
        while true {
            var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            let count = poll(&descriptor, 1, Self.pollInterval)
            if count > 0 { return }
            if count < 0, errno != EINTR { throw .malformed }
            if ContinuousClock.now > deadline { throw .timedOut }
            if isCancelled() { throw .cancelled }
        }
    }

    private func receive() throws(Failure) -> (DecodeAnswer, Payload?) {
        var file: Int32 = -1
        let count = gwi_message_receive(socket, buffer.baseAddress, buffer.count, &file)
        defer { if file >= 0 { close(file) } }
        guard count > 0 else {
            guard count == 0 || errno == ECONNRESET else { throw .malformed }
            throw .ended(signal: end(hasEnded: true))
        }
        let message = UnsafeRawBufferPointer(rebasing: buffer[..<count])
        do {
            return try WorkerAnswer.read(message, file: file)
        } catch {
            throw .malformed
        }
    }

    /// The time after which a start counts as failed. A machine that swaps may take seconds.
    private static let longestStart = Duration.seconds(15)
    /// Milliseconds between two looks at whether the image is still wanted.
    private static let pollInterval: Int32 = 100
}

/// Reads what a worker has sent. This, ``MessageReader`` and what they make are all that an attacker meets who has taken over a worker.
package enum WorkerAnswer {
    /// Whether bytes are an answer, for the fuzzer.
    package static func accepts(_ message: UnsafeRawBufferPointer, file: Int32) -> Bool {
        (try? read(message, file: file)) != nil
    }

    /// - Parameter file: The file in memory with the pixels, or -1.
    static func read(
        _ message: UnsafeRawBufferPointer,
        file: Int32
    ) throws(MessageReader.Malformed) -> (DecodeAnswer, DecodeWorker.Payload?) {
        var reader = MessageReader(ArraySlice(message))
        let answer = try DecodeAnswer(from: &reader)
        switch answer {
        case .image(let image):
            let count = image.animation?.frameCount ?? 0
            return (answer, try payload(image.pixels, durations: count, inline: reader.rest, file: file))
        case .frame(_, let pixels):
            return (answer, try payload(pixels, durations: 0, inline: reader.rest, file: file))
        default:
            guard reader.rest.isEmpty else { throw MessageReader.Malformed() }
            return (answer, nil)
        }
    }

    private static func payload(
        _ description: PixelDescription,
        durations count: Int,
        inline: ArraySlice<UInt8>,
        file: Int32
    ) throws(MessageReader.Malformed) -> DecodeWorker.Payload {
        let (byteCount, durationBytes) = (description.byteCount, count * 2 * MemoryLayout<Int64>.size)
        let total = byteCount + durationBytes
        guard description.isInline else {
            guard inline.isEmpty, file >= 0, let start = gwi_memory_file_map(file, total) else {
                throw MessageReader.Malformed()
            }
            let all = UnsafeRawBufferPointer(start: start, count: total)
            let durations = self.durations(UnsafeRawBufferPointer(rebasing: all[byteCount...]))
            // The mapping is as unchangeable as its file. The address is a number to the closure, which is Sendable.
            let address = UInt(bitPattern: start)
            let pixels = PixelBuffer(
                adopting: start,
                size: description.size,
                format: description.format,
                colors: description.colors
            ) { munmap(UnsafeMutableRawPointer(bitPattern: address), total) }
            return DecodeWorker.Payload(pixels: pixels, durations: durations)
        }
        guard inline.count == total else { throw MessageReader.Malformed() }
        let (bytes, rest) = (inline.prefix(byteCount), inline.dropFirst(byteCount))
        let pixels = PixelBuffer(size: description.size, format: description.format, colors: description.colors) {
            $0.copyBytes(from: bytes)
        }
        guard let pixels else { throw MessageReader.Malformed() }
        return DecodeWorker.Payload(pixels: pixels, durations: rest.withUnsafeBytes { durations($0) })
    }

    /// Reads pairs of seconds and attoseconds.
    private static func durations(_ bytes: UnsafeRawBufferPointer) -> [Duration] {
        stride(from: 0, to: bytes.count - bytes.count % 16, by: 16).map { offset in
            let seconds = bytes.loadUnaligned(fromByteOffset: offset, as: Int64.self)
            let attoseconds = bytes.loadUnaligned(fromByteOffset: offset + 8, as: Int64.self)
            // An animation bounds its durations, once they are numbers with which it can calculate.
            return Duration(
                secondsComponent: min(max(seconds, 0), 1 << 32),
                attosecondsComponent: min(max(attoseconds, 0), 999_999_999_999_999_999)
            )
        }
    }
}
