internal import CWebImageSandboxShims
import Glibc
import Synchronization
import WebImageCore

/// How the bytes of a file, or of pixels, travel between the app and a decode worker.
enum WorkerCarrier: CaseIterable {
    /// In the message, after its fields.
    case message
    /// In the shared memory, for one message at a time. It stays mapped, because mapping new memory for each image
    /// takes longer than copying.
    case sharedMemory
    /// In a memory file that comes with the message, for large amounts.
    case file

    /// - Parameter room: The size of the shared memory in bytes.
    init(byteCount: Int, room: Int) {
        self = byteCount <= WorkerMessage.largestInline ? .message : byteCount <= room ? .sharedMemory : .file
    }
}

/// The memory that the app shares with a worker: files travel in its first half, and pixels in its second.
struct SharedMemory {
    let toWorker: UnsafeMutableRawBufferPointer
    let toApp: UnsafeMutableRawBufferPointer

    /// The size in bytes of both halves. Unused pages take no memory.
    static let byteCount = 4 << 20

    init(_ start: UnsafeMutableRawPointer, byteCount: Int) {
        let half = byteCount / 2
        toWorker = UnsafeMutableRawBufferPointer(start: start, count: half)
        toApp = UnsafeMutableRawBufferPointer(start: start + half, count: half)
    }
}

/// The half of the shared memory in which a worker decodes, so that most pixels need not be copied for the app.
///
/// @unchecked: the memory is as mutable as that of malloc, and each part is handed out once at a time.
final class SharedPixelMemory: PixelMemory, @unchecked Sendable {
    private let memory: UnsafeMutableRawBufferPointer
    private let state = Mutex((end: 0, bufferCount: 0))

    init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

    func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer? {
        state.withLock { state in
            guard byteCount <= memory.count - state.end else { return nil }
            let start = memory.baseAddress.map { $0 + state.end }
            // Sizes are rounded up to whole cache lines.
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

    /// The offset of bytes in the memory; `nil` if they are elsewhere.
    func offset(of bytes: UnsafeRawBufferPointer) -> Int? {
        guard let start = memory.baseAddress, let other = bytes.baseAddress, other >= UnsafeRawPointer(start),
            other < UnsafeRawPointer(start + memory.count)
        else { return nil }
        return other - UnsafeRawPointer(start)
    }
}

/// The format of messages on the socket.
enum WorkerMessage {
    /// The largest number of bytes that travel in a message.
    static let largestInline = 8 << 10
    /// The size of the largest message.
    static let largestSize = largestInline + (8 << 10)

    /// Sends a message and its bytes.
    /// - Parameters:
    ///   - file: A file with these bytes, if there is one. The other process gets a duplicate of its descriptor.
    ///   - memory: Where bytes are written that are neither in the message nor in a file.
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
