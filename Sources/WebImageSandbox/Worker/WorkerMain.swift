internal import CWebImageSandboxShims
import FoundationEssentials
import Glibc
package import WebImageCore

/// A zygote that has loaded its decoders, from there to the end of the app, and the workers that it forks.
package enum WorkerMain {
    /// Makes a worker for each one that the app wants, which answers its commands. Returns at the end of either process.
    /// - Parameters:
    ///   - socket: The socket to the app.
    ///   - readable: The folders with files that the decoders read all the same.
    ///   - decodingLimit: The bytes that all decodes of the app may take together.
    package static func run(
        on socket: Int32,
        _ kind: WorkerKind,
        coders: CoderRegistry,
        readable: [UnsafePointer<CChar>?],
        decodingLimit: Int
    ) {
        // The seed of hashed collections.
        _ = Set([1])
        var size = 0
        guard let memory = gwi_zygote_run(&size) else { return }
        // From here on this is a worker.
        let session = DecodeSession(coders: coders)
        // The library's own decoders have no threads, but some modules have.
        let fence = DecodeAnswer.Fence(
            rawValue: gwi_worker_close_fence(limits(kind, decodingLimit), readable, readable.count, kind != .codecs)
        )
        let channel = WorkerChannel(socket, SharedMemory(memory, byteCount: size))
        channel.send(.ready(fence))
        while let (command, data) = channel.receive() {
            guard let answer = session.answer(command, data) else { continue }
            channel.send(answer.0, answer.1)
        }
    }

    /// What a worker may take, whatever a file says: as much memory as all decodes of the app may together, and what the program and its
    /// libraries take; and for an answer as much again.
    private static func limits(_ kind: WorkerKind, _ decodingLimit: Int) -> gwi_worker_limits {
        let memory = UInt64(mappedByteCount + decodingLimit + (1 << 30))
        // Beside /dev/null and the socket there is one file in memory at a time, and with drawings those of fonts.
        return gwi_worker_limits(memory: memory, file: UInt64(decodingLimit), descriptors: kind == .drawings ? 16 : 5)
    }

    /// The memory that the program and its libraries map.
    private static var mappedByteCount: Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 1 << 30 }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 128)
        guard fgets(&text, Int32(text.count), file) != nil else { return 1 << 30 }
        return strtol(text, nil, 10) * max(sysconf(Int32(_SC_PAGESIZE)), 4096)
    }
}

/// The worker's end of the socket.
final class WorkerChannel {
    private let socket: Int32
    private let memory: SharedMemory
    private let pool: SharedPixelMemory
    private let buffer: UnsafeMutableRawBufferPointer

    init(_ socket: Int32, _ memory: SharedMemory) {
        self.socket = socket
        self.memory = memory
        pool = SharedPixelMemory(memory.toApp)
        PixelBuffer.pool = pool
        buffer = .allocate(byteCount: WorkerMessage.largestSize, alignment: 16)
    }

    /// The next command, and the bytes that came with it.
    /// - Returns: `nil` when the app has ended, or says what no app says.
    func receive() -> (DecodeCommand, Data)? {
        giveMemoryBackWhenIdle()
        var file: Int32 = -1
        let count = gwi_message_receive(socket, buffer.baseAddress, buffer.count, &file, 1)
        defer { if file >= 0 { close(file) } }
        guard count > 0 else { return nil }
        var coder = MessageCoder(reading: ArraySlice(UnsafeRawBufferPointer(rebasing: buffer[..<count])))
        var command = DecodeCommand()
        do { try command.code(&coder) } catch { return nil }
        guard let byteCount = command.byteCount, byteCount > 0 else { return (command, Data()) }
        switch command.carrier {
        case .message: return (command, Data(coder.bytes))
        case .sharedMemory:
            guard byteCount <= memory.toWorker.count, let start = memory.toWorker.baseAddress else { return nil }
            // The next command overwrites it.
            return (
                command,
                command.kind.keepsBytes
                    ? Data(bytes: start, count: byteCount)
                    : Data(bytesNoCopy: start, count: byteCount, deallocator: .none)
            )
        case .file:
            // The app lets nobody change it.
            guard let start = gwi_file_map(file, byteCount) else { return nil }
            return (command, Data(bytesNoCopy: start, count: byteCount, deallocator: .custom { munmap($0, $1) }))
        }
    }

    /// What malloc keeps of the last files is of no use to a worker that has nothing to do.
    private func giveMemoryBackWhenIdle() {
        var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        if poll(&descriptor, 1, Self.idleMilliseconds) == 0 { gwi_malloc_trim() }
    }

    /// Between two images of a list, or two frames of an animation, there is less.
    private static let idleMilliseconds: Int32 = 250

    /// - Parameter pixels: The pixels, and the durations of frames behind them.
    func send(_ answer: DecodeAnswer, _ pixels: (PixelBuffer, durations: [Int64])? = nil) {
        guard let (buffer, durations) = pixels else { return send(answer, [], in: .message) }
        buffer.withUnsafeBytes { bytes in
            durations.withUnsafeBytes { durations in
                let byteCount = bytes.count + durations.count
                if byteCount <= WorkerMessage.largestInline {
                    send(answer, [bytes, durations], in: .message)
                } else if durations.isEmpty, let offset = pool.offset(of: bytes) {
                    send(answer.with(.sharedMemory, offset), [], in: .message)
                } else if let start = pool.allocate(byteCount) {
                    defer { pool.free() }
                    let free = UnsafeMutableRawBufferPointer(start: start, count: byteCount)
                    free.copyMemory(from: bytes)
                    UnsafeMutableRawBufferPointer(rebasing: free[bytes.count...]).copyMemory(from: durations)
                    send(
                        answer.with(.sharedMemory, pool.offset(of: UnsafeRawBufferPointer(free)) ?? 0),
                        [],
                        in: .message
                    )
                } else {
                    send(answer.with(.file, 0), [bytes, durations], in: .file)
                }
            }
        }
    }

    private func send(_ answer: DecodeAnswer, _ bytes: [UnsafeRawBufferPointer], in carrier: WorkerCarrier) {
        let isSent = WorkerMessage.send(answer.message, bytes, in: carrier, memory: memory.toApp, on: socket)
        // Without memory for the answer there is none, and without an answer the app would wait.
        if !isSent { _exit(1) }
    }
}

extension DecodeAnswer {
    /// The same answer, with its pixels elsewhere.
    fileprivate func with(_ carrier: WorkerCarrier, _ offset: Int) -> DecodeAnswer {
        switch self {
        case .image(var image):
            (image.pixels.carrier, image.pixels.offset) = (carrier, offset)
            return .image(image)
        case .frame(let index, var pixels):
            (pixels.carrier, pixels.offset) = (carrier, offset)
            return .frame(index: index, pixels)
        case .ready, .done, .unknown, .failure: return self
        }
    }
}
