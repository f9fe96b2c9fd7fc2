internal import CWebImageSandboxShims
import FoundationEssentials
import Glibc
package import WebImageCore

/// The main program of a zygote after it has loaded its decoders, and of the workers that it forks.
package enum WorkerMain {
    /// Forks a worker for each request of the app. A worker answers commands. Returns when either process ends.
    /// - Parameters:
    ///   - socket: The socket to the app.
    ///   - readable: The folders of files that the decoders may read.
    ///   - decodingLimit: The largest number of bytes of all decodes of the app together.
    package static func run(
        on socket: Int32,
        _ kind: WorkerKind,
        coders: CoderRegistry,
        readable: [UnsafePointer<CChar>?],
        decodingLimit: Int
    ) {
        // This creates the seed of hashed collections before the first fork.
        _ = Set([1])
        var size = 0
        guard let memory = gwi_zygote_run(&size) else { return }
        // From here on, this process is a worker.
        let session = DecodeSession(coders: coders)
        // The library's own decoders start no threads, but some modules do.
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

    /// The resource limits of a worker: as much memory as all decodes of the app may take together, plus that of the
    /// program and its libraries; and as much again for an answer.
    private static func limits(_ kind: WorkerKind, _ decodingLimit: Int) -> gwi_worker_limits {
        let memory = UInt64(mappedByteCount + decodingLimit + (1 << 30))
        // Besides /dev/null and the socket there is one memory file at a time; drawings also need those of fonts.
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

    /// Receives the next command, and the bytes that came with it.
    /// - Returns: `nil` if the app has ended or sent a malformed message.
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
            // The next command overwrites the memory.
            return (
                command,
                command.kind.keepsBytes
                    ? Data(bytes: start, count: byteCount)
                    : Data(bytesNoCopy: start, count: byteCount, deallocator: .none)
            )
        case .file:
            // The app makes sure that the file cannot change.
            guard let start = gwi_file_map(file, byteCount) else { return nil }
            return (command, Data(bytesNoCopy: start, count: byteCount, deallocator: .custom { munmap($0, $1) }))
        }
    }

    /// Releases the memory that malloc retains after the last files, once the worker is idle.
    private func giveMemoryBackWhenIdle() {
        var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        if poll(&descriptor, 1, Self.idleMilliseconds) == 0 { gwi_malloc_trim() }
    }

    /// The idle time in milliseconds, which is longer than the pause between two images of a list or two frames.
    private static let idleMilliseconds: Int32 = 250

    /// - Parameter pixels: The pixels, and the durations of frames that follow them.
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
        // Without memory for the answer it cannot be sent, and the app would wait for it.
        if !isSent { _exit(1) }
    }
}

extension DecodeAnswer {
    /// The same answer with its pixels in another place.
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
