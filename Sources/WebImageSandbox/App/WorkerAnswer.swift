internal import CWebImageSandboxShims
import FoundationEssentials
import Glibc
package import WebImageCore

/// Reads what a worker has sent. This, ``MessageReader`` and what they make are all that an attacker meets who has taken over a worker.
package enum WorkerAnswer {
    /// The image that the app makes of an answer, for the fuzzer.
    package static func image(_ message: UnsafeRawBufferPointer, memory: UnsafeRawBufferPointer) -> WebImage? {
        let options = DecodeOptions()
        guard let (answer, payload) = try? read(message, DecodeAnswer.Limit(options), file: -1, memory: memory) else {
            return nil
        }
        let file = SandboxedFile(data: Data(), format: .gif)
        return try? DecodeSandbox.unavailable.image(answer, payload, of: file, options: options)
    }

    /// - Parameters:
    ///   - file: The file in memory with the pixels, or -1.
    ///   - memory: What the worker shares with the app, and may change at any time.
    static func read(
        _ message: UnsafeRawBufferPointer,
        _ limit: DecodeAnswer.Limit,
        file: Int32,
        memory: UnsafeRawBufferPointer
    ) throws(MessageReader.Malformed) -> (DecodeAnswer, DecodeWorker.Payload?) {
        var reader = MessageReader(ArraySlice(message))
        let answer = try DecodeAnswer(from: &reader)
        switch answer {
        case .image(let image):
            let count = image.animation?.frameCount ?? 0
            // The first image of an animation has the size of its frames.
            guard limit.allows(image.pixels), count <= limit.frameCount,
                image.animation.map({ $0.size == image.pixels.size }) ?? true
            else { throw MessageReader.Malformed() }
            let payload = try Self.payload(
                image.pixels,
                durations: count,
                inline: reader.rest,
                file: file,
                memory: memory
            )
            return (answer, payload)
        case .frame(_, let pixels):
            guard limit.allows(pixels), limit.frameSize.map({ $0 == pixels.size }) ?? true else {
                throw MessageReader.Malformed()
            }
            return (answer, try payload(pixels, durations: 0, inline: reader.rest, file: file, memory: memory))
        default:
            guard reader.rest.isEmpty else { throw MessageReader.Malformed() }
            return (answer, nil)
        }
    }

    private static func payload(
        _ description: PixelDescription,
        durations count: Int,
        inline: ArraySlice<UInt8>,
        file: Int32,
        memory: UnsafeRawBufferPointer
    ) throws(MessageReader.Malformed) -> DecodeWorker.Payload {
        let byteCount = description.byteCount
        let total = byteCount + count * 2 * MemoryLayout<Int64>.size
        guard description.carrier == .message || inline.isEmpty else { throw MessageReader.Malformed() }
        switch description.carrier {
        case .message:
            guard inline.count == total else { throw MessageReader.Malformed() }
            let copy = inline.withUnsafeBytes { copied($0, description) }
            guard let copy else { throw MessageReader.Malformed() }
            return copy
        case .sharedMemory:
            let start = description.offset
            guard start <= memory.count, total <= memory.count - start,
                let copy = copied(UnsafeRawBufferPointer(rebasing: memory[start..<start + total]), description)
            else { throw MessageReader.Malformed() }
            return copy
        case .file:
            guard file >= 0, let start = gwi_memory_file_map(file, total) else { throw MessageReader.Malformed() }
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
    }

    /// The pixels and the durations behind them, which nobody else can change any more.
    private static func copied(
        _ bytes: UnsafeRawBufferPointer,
        _ description: PixelDescription
    ) -> DecodeWorker.Payload? {
        let (size, byteCount) = (description.size, description.byteCount)
        let pixels = PixelBuffer(size: size, format: description.format, colors: description.colors) {
            $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<byteCount]))
        }
        let rest = UnsafeRawBufferPointer(rebasing: bytes[byteCount...])
        return pixels.map { DecodeWorker.Payload(pixels: $0, durations: durations(rest)) }
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
