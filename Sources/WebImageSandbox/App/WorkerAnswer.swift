internal import CWebImageSandboxShims
import FoundationEssentials
import Glibc
package import WebImageCore

extension DecodeWorker {
    /// Receives an answer, and the pixels that come with it.
    func receive(_ limit: DecodeAnswer.Limit) throws(Failure) -> (DecodeAnswer, Payload?) {
        var file: Int32 = -1
        let count = gwi_message_receive(socket, buffer.baseAddress, buffer.count, &file, 1)
        defer { if file >= 0 { close(file) } }
        guard count > 0 else {
            switch count == 0 ? 0 : errno {
            case 0: throw .ended(signal: end(hasEnded: true))
            // The worker has ended without reading the command.
            case ECONNRESET: throw .notStarted
            // The file of the answer needs a descriptor, and this process has none left.
            case EPROTO: throw .notSent(EMFILE)
            default: throw .malformed
            }
        }
        let message = UnsafeRawBufferPointer(rebasing: buffer[..<count])
        do {
            return try WorkerAnswer.read(message, limit, file: file, memory: UnsafeRawBufferPointer(memory.toApp))
        } catch {
            throw error == .outOfMemory ? .notSent(ENOMEM) : .malformed
        }
    }
}

/// Reads the messages of workers. ``DecodeWorker/receive(_:)``, this, ``MessageCoder`` and their results are the whole attack surface for a compromised worker.
package enum WorkerAnswer {
    /// Creates the image of an answer, for the fuzzer.
    package static func image(_ message: UnsafeRawBufferPointer, memory: UnsafeRawBufferPointer) -> WebImage? {
        let options = DecodeOptions()
        guard let (answer, payload) = try? read(message, DecodeAnswer.Limit(options), file: -1, memory: memory) else {
            return nil
        }
        let file = SandboxedFile(data: Data(), format: .gif, kind: .codecs)
        return try? DecodeSandbox.unavailable.image(answer, payload, of: file, options: options)
    }

    /// - Parameters:
    ///   - file: The memory file with the pixels, or -1.
    ///   - memory: The memory that the worker shares with the app and may change at any time.
    static func read(
        _ message: UnsafeRawBufferPointer,
        _ limit: DecodeAnswer.Limit,
        file: Int32,
        memory: UnsafeRawBufferPointer
    ) throws(MessageCoder.Malformed) -> (DecodeAnswer, DecodeWorker.Payload?) {
        var (answer, coder) = (DecodeAnswer.done, MessageCoder(reading: ArraySlice(message)))
        try answer.code(&coder)
        try coder.check(limit.allows(answer))
        let inline = coder.bytes
        var total = answer.pixels?.byteCount ?? 0
        if case .image(let image) = answer { total += image.frameCount * 2 * MemoryLayout<Int64>.size }
        try coder.check(answer.pixels?.carrier == .message ? inline.count == total : inline.isEmpty)
        guard let pixels = answer.pixels else { return (answer, nil) }
        let payload: DecodeWorker.Payload?
        switch pixels.carrier {
        case .message: payload = inline.withUnsafeBytes { copied($0, pixels) }
        case .sharedMemory:
            try coder.check(pixels.offset <= memory.count && total <= memory.count - pixels.offset)
            payload = copied(UnsafeRawBufferPointer(rebasing: memory[pixels.offset...].prefix(total)), pixels)
        case .file:
            errno = 0
            let start = gwi_memory_file_map(file, total)
            try coder.check(start != nil || errno == ENOMEM)
            payload = start.flatMap { mapped(UnsafeMutableRawBufferPointer(start: $0, count: total), pixels) }
        }
        // The answer is valid, so only memory can be missing.
        guard let payload else { throw MessageCoder.Malformed.outOfMemory }
        return (answer, payload)
    }

    /// The pixels and the durations in a mapping, which cannot change because its file is sealed.
    private static func mapped(_ bytes: UnsafeMutableRawBufferPointer, _ pixels: PixelDescription) -> DecodeWorker
        .Payload?
    {
        guard let start = bytes.baseAddress else { return nil }
        let durations = self.durations(UnsafeRawBufferPointer(rebasing: bytes[pixels.byteCount...]))
        // The closure is Sendable, so it captures the address as a number.
        let (address, count) = (UInt(bitPattern: start), bytes.count)
        let buffer = PixelBuffer(adopting: start, size: pixels.size, format: pixels.format, colors: pixels.colors) {
            munmap(UnsafeMutableRawPointer(bitPattern: address), count)
        }
        return DecodeWorker.Payload(pixels: buffer, durations: durations)
    }

    /// A copy of the pixels and the durations behind them, which no other process can change.
    private static func copied(_ bytes: UnsafeRawBufferPointer, _ pixels: PixelDescription) -> DecodeWorker.Payload? {
        let buffer = PixelBuffer(size: pixels.size, format: pixels.format, colors: pixels.colors) {
            $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<pixels.byteCount]))
        }
        let durations = durations(UnsafeRawBufferPointer(rebasing: bytes[pixels.byteCount...]))
        return buffer.map { DecodeWorker.Payload(pixels: $0, durations: durations) }
    }

    /// Reads pairs of seconds and attoseconds.
    private static func durations(_ bytes: UnsafeRawBufferPointer) -> [Duration] {
        stride(from: 0, to: bytes.count - bytes.count % 16, by: 16).map { offset in
            let seconds = bytes.loadUnaligned(fromByteOffset: offset, as: Int64.self)
            let attoseconds = bytes.loadUnaligned(fromByteOffset: offset + 8, as: Int64.self)
            // An animation limits its durations, but it must be able to calculate with them.
            return Duration(
                secondsComponent: min(max(seconds, 0), 1 << 32),
                attosecondsComponent: min(max(attoseconds, 0), 999_999_999_999_999_999)
            )
        }
    }
}
