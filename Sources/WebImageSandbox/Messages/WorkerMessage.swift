internal import CWebImageSandboxShims
import Glibc
import Synchronization
import WebImageCore

/// Where the bytes of a file, or of pixels, travel between the app and a decode worker.
enum WorkerCarrier: CaseIterable {
    /// In the message, behind what it says.
    case message
    /// In the memory that both share, for one message at a time. It stays mapped: memory that is new for each image takes longer
    /// than to copy the bytes.
    case sharedMemory
    /// In a file in memory that comes with the message, for what is large.
    case file

    /// - Parameter room: The bytes that the shared memory has for them.
    init(byteCount: Int, room: Int) {
        self = byteCount <= WorkerMessage.largestInline ? .message : byteCount <= room ? .sharedMemory : .file
    }
}

/// The memory that the app shares with a worker: files go one way in its first half, and pixels the other way in its second.
struct SharedMemory {
    let toWorker: UnsafeMutableRawBufferPointer
    let toApp: UnsafeMutableRawBufferPointer

    /// The size in bytes of both halves. Pages that are never used take no memory.
    static let byteCount = 4 << 20

    init(_ start: UnsafeMutableRawPointer, byteCount: Int) {
        let half = byteCount / 2
        toWorker = UnsafeMutableRawBufferPointer(start: start, count: half)
        toApp = UnsafeMutableRawBufferPointer(start: start + half, count: half)
    }
}

/// The half of the shared memory in which a worker decodes, so that most pixels are where the app reads them at once.
///
/// @unchecked: the memory is as mutable as that of malloc, and given out once at a time.
final class SharedPixelMemory: PixelMemory, @unchecked Sendable {
    private let memory: UnsafeMutableRawBufferPointer
    private let state = Mutex((end: 0, bufferCount: 0))

    init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

    func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer? {
        state.withLock { state in
            guard byteCount <= memory.count - state.end else { return nil }
            let start = memory.baseAddress.map { $0 + state.end }
            // Whole lines of the processor's cache.
            state = (min(state.end + (byteCount + 63) & ~63, memory.count), state.bufferCount + 1)
            return start
        }
    }

    func free() {
        state.withLock { state in
            state.bufferCount -= 1
            if state.bufferCount == 0 { state.end = 0 }
        }
    }

    /// The place of bytes in the memory; `nil` when they are elsewhere.
    func offset(of bytes: UnsafeRawBufferPointer) -> Int? {
        guard let start = memory.baseAddress, let other = bytes.baseAddress, other >= UnsafeRawPointer(start),
            other < UnsafeRawPointer(start + memory.count)
        else { return nil }
        return other - UnsafeRawPointer(start)
    }
}

/// What both ends of the socket agree on.
enum WorkerMessage {
    /// The most bytes that travel in a message.
    static let largestInline = 8 << 10
    /// The size of the largest message.
    static let largestSize = largestInline + (8 << 10)

    /// Sends a message and the bytes that belong to it.
    /// - Parameters:
    ///   - file: A file with these bytes, if there is one, of which the other process gets a descriptor of its own.
    ///   - memory: Where bytes go that are neither in the message nor in a file.
    static func send(
        _ message: [UInt8],
        _ bytes: [UnsafeRawBufferPointer],
        in carrier: WorkerCarrier,
        file known: Int32? = nil,
        memory: UnsafeMutableRawBufferPointer,
        waits: Bool = true,
        on socket: Int32
    ) -> Bool {
        message.withUnsafeBytes { message in
            var parts = [gwi_bytes(start: message.baseAddress, size: message.count)]
            let payload = bytes.filter { !$0.isEmpty }
            var made: Int32 = -1
            switch carrier {
            case .message: parts += payload.map { gwi_bytes(start: $0.baseAddress, size: $0.count) }
            case .sharedMemory:
                var rest = memory[...]
                for part in payload {
                    UnsafeMutableRawBufferPointer(rebasing: rest).copyMemory(from: part)
                    rest = rest.dropFirst(part.count)
                }
            case .file where known != nil: break
            case .file:
                let parts = payload.map { gwi_bytes(start: $0.baseAddress, size: $0.count) }
                made = gwi_memory_file(parts, parts.count)
                guard made >= 0 else { return false }
            }
            defer { if made >= 0 { close(made) } }
            var file = carrier == .file ? known ?? made : -1
            return gwi_message_send(socket, parts, parts.count, &file, file >= 0 ? 1 : 0, waits) > 0
        }
    }
}
