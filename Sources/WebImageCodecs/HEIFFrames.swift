internal import CWebImageCodecShims
import FoundationEssentials
import Glibc
import Synchronization
import WebImageCore
import WebImageFormats

/// The times of the frames of an image sequence: the first track with images (ISO/IEC 14496-12, 8.6.1.2 and 8.4.2).
struct HEIFTrack {
    let durations: [Duration]

    /// - Returns: `nil` for a file that is no sequence.
    init?(_ bytes: ByteReader, frameLimit: Int) {
        // A file with both begins with the brand that it prefers.
        guard ["avis", "hevc", "hevx", "msf1"].contains(where: { bytes.matches($0, at: 8) }),
            let movie = BoxHeader.child("moov", of: bytes)
        else { return nil }
        for track in BoxHeader.boxes(in: movie) where track.name == "trak" {
            guard let media = BoxHeader.child("mdia", of: track.contents),
                let handler = BoxHeader.child("hdlr", of: media),
                handler.matches("pict", at: 8) || handler.matches("vide", at: 8),
                let clock = BoxHeader.child("mdhd", of: media),
                let scale = clock.uint32BE(clock.uint8(0) == 1 ? 20 : 12), scale > 0,
                let times = ["minf", "stbl", "stts"].reduce(
                    Optional(media),
                    { parent, name in
                        parent.flatMap { BoxHeader.child(name, of: $0) }
                    }
                )
            else { continue }
            var durations: [Duration] = []
            for entry in 0..<Int(times.uint32BE(4) ?? 0) {
                guard let count = times.uint32BE(8 + entry * 8), let ticks = times.uint32BE(12 + entry * 8) else {
                    break
                }
                let duration = Duration.ticks(ticks, of: scale)
                let free = frameLimit - durations.count
                durations += Array(repeating: duration, count: min(Int(count), free))
                if durations.count == frameLimit { break }
            }
            guard !durations.isEmpty else { return nil }
            self.durations = durations
            return
        }
        return nil
    }
}

extension Duration {
    /// A number of ticks, of which `rate` divided by `divisor` make a second, to the nanosecond.
    static func ticks(_ count: UInt32, of rate: UInt32, over divisor: UInt32 = 1) -> Duration {
        let (high, low) = (UInt64(count) * UInt64(divisor)).multipliedFullWidth(by: 1_000_000_000)
        guard rate > 0 else { return .zero }
        guard high < UInt64(rate) else { return .nanoseconds(Int64.max) }
        return .nanoseconds(Int64(clamping: UInt64(rate).dividingFullWidth((high, low)).quotient))
    }
}

/// Draws the frames of an image sequence, which libheif decodes in their order.
final class HEIFFrames: FrameSource {
    private let bytes: FileBytes
    private let track: HEIFTrack
    private let image: HEIFFile.Image
    private let loopCount: Int
    private let options: DecodeOptions
    private let state = Mutex(State())

    /// `@unchecked`: the file is used under the lock only.
    private struct State: @unchecked Sendable {
        var file: HEIFFile?
        /// The frame that is decoded next.
        var next = 0
    }

    /// - Returns: `nil` if libheif reads no sequences.
    init?(_ data: Data, _ track: HEIFTrack, options: DecodeOptions) throws(ImageError) {
        guard let bytes = FileBytes(data) else { throw options.outOfMemory(PixelSize(width: data.count, height: 1)) }
        let file = try HEIFFile(bytes.reader, options)
        guard let (image, loopCount) = file.findTrack() else { return nil }
        try options.check(image.size)
        (self.bytes, self.track, self.image) = (bytes, track, image)
        (self.loopCount, self.options) = (loopCount, options)
    }

    func image(_ format: ImageFormat, _ data: Data) throws(ImageError) -> WebImage {
        let rect = PixelRect(x: 0, y: 0, width: image.size.width, height: image.size.height)
        let played = try WebImage(
            animated: self,
            layouts: track.durations.map {
                FrameLayout(rect: rect, duration: $0, disposal: .keep, isBlended: false, hasAlpha: image.hasAlpha)
            },
            size: image.size,
            loopCount: loopCount,
            format: format,
            data: data,
            isArriving: false,
            arrival: nil,
            options: options
        )
        // The first frame has the code points of the track.
        return played.converted(from: state.withLock { $0.file?.profile }, options)
    }

    func draw(_ index: Int, on canvas: FrameCanvas) throws(ImageError) {
        let result = state.withLock { state in
            Result { () throws(ImageError) in try draw(index, on: canvas, &state) }
        }
        try result.get()
    }

    private func draw(_ index: Int, on canvas: FrameCanvas, _ state: inout State) throws(ImageError) {
        let file: HEIFFile
        if let known = state.file, state.next <= index {
            file = known
        } else {
            file = try HEIFFile(bytes.reader, options)
            guard file.findTrack() != nil else { throw options.badData("The track of the file is gone") }
            state.next = 0
        }
        // A file whose decoder has thrown is not used again.
        state.file = nil
        var rows = try file.decode(hasAlpha: image.hasAlpha, isDeep: false)
        for _ in state.next..<index { rows = try file.decode(hasAlpha: image.hasAlpha, isDeep: false) }
        guard rows.size == canvas.size else { throw options.badData("A frame of the file has another size") }
        canvas.copy(
            PixelRows(
                start: rows.start,
                size: rows.size,
                bytesPerRow: rows.bytes_per_row,
                layout: image.hasAlpha ? .rgba : .rgb
            )
        )
        (state.file, state.next) = (file, index + 1)
    }
}

/// The bytes of a file at an address that stays.
///
/// `@unchecked`: the bytes are written by `init` only.
final class FileBytes: @unchecked Sendable {
    private let memory: UnsafeMutableRawBufferPointer

    /// - Returns: `nil` if out of memory.
    init?(_ data: Data) {
        guard let start = malloc(max(data.count, 1)) else { return nil }
        memory = UnsafeMutableRawBufferPointer(start: start, count: data.count)
        data.copyBytes(to: memory)
    }

    deinit {
        free(memory.baseAddress)
    }

    var reader: ByteReader { ByteReader(UnsafeRawBufferPointer(memory)) }
}

extension FrameCanvas {
    /// Replaces all pixels by rows of RGB, or of RGBA with straight alpha.
    func copy(_ rows: PixelRows) {
        let rect = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
        for y in 0..<size.height {
            let (source, target) = (rows.start + y * rows.bytesPerRow, row(y, of: rect))
            guard rows.layout == .rgb else {
                target.update(from: source.assumingMemoryBound(to: UInt32.self), count: size.width)
                continue
            }
            let bytes = source.assumingMemoryBound(to: UInt8.self)
            for x in 0..<size.width {
                target[x] =
                    UInt32(bytes[x * 3]) | UInt32(bytes[x * 3 + 1]) << 8 | UInt32(bytes[x * 3 + 2]) << 16 | 0xFF00_0000
            }
        }
        if rows.layout != .rgb { multiplyAlpha(in: rect) }
    }
}
