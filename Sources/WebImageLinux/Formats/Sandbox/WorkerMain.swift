internal import CWebImageGLib
internal import CWebImagePixbuf
internal import CWebImageShims
import FoundationEssentials
import Glibc
package import WebImageCore

/// A decode worker, from its start to the end of the app. It is called before `main`, in the program of the app or in one of its own.
@_cdecl("gwi_worker_main")
package func runDecodeWorker(_ socket: Int32) {
    PixbufCoder.isInWorker = true
    let session = DecodeSession(coders: DecodeWorkerProcess.coders())
    DecodeWorkerProcess.prepare()
    let fence = gwi_worker_close_fence(DecodeWorkerProcess.memoryLimit)
    let channel = WorkerChannel(socket)
    channel.send(.ready(DecodeAnswer.Fence(rawValue: fence)))
    while let (command, data) = channel.receive() {
        guard let answer = session.answer(command, data) else { continue }
        channel.send(answer.0, answer.1)
    }
}

/// The process of a decode worker.
package enum DecodeWorkerProcess {
    /// What a test adds to the decoders of its workers. It is set before `main`, on the only thread.
    nonisolated(unsafe) package static var addedDecoders: [any ImageDecoding] = []

    /// The most memory that a worker may map, whatever a file says: as much as all decodes of the app may take together, and
    /// what the program and its libraries take.
    static let memoryLimit = UInt64(mappedByteCount + SystemResources.loadingBudget.decodingLimit + (1 << 30))

    static func coders() -> CoderRegistry { .builtIn(adding: addedDecoders) }

    /// Loads what decoders load when they are first used, while files can be opened.
    static func prepare() {
        guard let formats = gdk_pixbuf_get_formats() else { return }
        defer { g_slist_free(formats) }
        var list: UnsafeMutablePointer<GSList>? = formats
        while let node = list {
            list = node.pointee.next
            let format = OpaquePointer(node.pointee.data)
            guard gdk_pixbuf_format_is_disabled(format) == 0, let types = gdk_pixbuf_format_get_mime_types(format)
            else { continue }
            defer { g_strfreev(types) }
            guard let type = types.pointee, !gwi_pixbuf_decodes_elsewhere(type),
                let loader = gdk_pixbuf_loader_new_with_mime_type(type, nil)
            else { continue }
            gdk_pixbuf_loader_close(loader, nil)
            g_object_unref(loader)
        }
        // The seed of hashed collections.
        _ = Set([1])
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
    private let buffer: UnsafeMutableRawBufferPointer

    init(_ socket: Int32) {
        self.socket = socket
        buffer = .allocate(byteCount: WorkerMessage.largestSize, alignment: 16)
    }

    /// The next command, and the bytes that came with it.
    /// - Returns: `nil` when the app has ended, or says what no app says.
    func receive() -> (DecodeCommand, Data)? {
        var file: Int32 = -1
        let count = gwi_message_receive(socket, buffer.baseAddress, buffer.count, &file)
        defer { if file >= 0 { close(file) } }
        guard count > 0 else { return nil }
        var reader = MessageReader(ArraySlice(UnsafeRawBufferPointer(rebasing: buffer[..<count])))
        guard let command = try? DecodeCommand(from: &reader) else { return nil }
        guard let byteCount = command.byteCount, byteCount > 0 else { return (command, Data()) }
        if command.isInline { return (command, Data(reader.rest)) }
        guard let start = gwi_memory_file_map(file, byteCount) else { return nil }
        return (command, Data(bytesNoCopy: start, count: byteCount, deallocator: .custom { munmap($0, $1) }))
    }

    /// - Parameter pixels: The pixels, and the durations of frames behind them.
    func send(_ answer: DecodeAnswer, _ pixels: (PixelBuffer, durations: [Int64])? = nil) {
        var answer = answer
        let byteCount = pixels.map { $0.0.byteCount + $0.durations.count * 8 } ?? 0
        let isInline = byteCount <= WorkerMessage.largestInline
        switch answer {
        case .image(var image):
            image.pixels.isInline = isInline
            answer = .image(image)
        case .frame(let index, var description):
            description.isInline = isInline
            answer = .frame(index: index, description)
        default: break
        }
        var writer = MessageWriter()
        answer.write(to: &writer)
        var isSent = false
        if let (buffer, durations) = pixels {
            isSent = buffer.withUnsafeBytes { bytes in
                durations.withUnsafeBytes {
                    WorkerMessage.send(writer.bytes, [bytes, $0], isInline: isInline, on: socket)
                }
            }
        } else {
            isSent = WorkerMessage.send(writer.bytes, [], isInline: true, on: socket)
        }
        // Without memory for the answer there is none, and without an answer the app would wait.
        if !isSent { _exit(1) }
    }
}

/// What both ends of the socket agree on.
enum WorkerMessage {
    /// The most bytes that travel in a message. More go into a file in memory, which costs a few system calls.
    static let largestInline = 48 << 10
    /// The size of the largest message.
    static let largestSize = largestInline + (8 << 10)

    /// Sends a message and the bytes that belong to it.
    static func send(
        _ message: [UInt8],
        _ bytes: [UnsafeRawBufferPointer],
        isInline: Bool,
        waits: Bool = true,
        on socket: Int32
    ) -> Bool {
        message.withUnsafeBytes { message in
            var parts = [gwi_bytes(start: message.baseAddress, size: message.count)]
            let payload = bytes.filter { !$0.isEmpty }.map { gwi_bytes(start: $0.baseAddress, size: $0.count) }
            var file: Int32 = -1
            if isInline {
                parts += payload
            } else {
                file = gwi_memory_file(payload, payload.count)
                guard file >= 0 else { return false }
            }
            defer { if file >= 0 { close(file) } }
            return gwi_message_send(socket, parts, parts.count, file, waits) > 0
        }
    }
}
