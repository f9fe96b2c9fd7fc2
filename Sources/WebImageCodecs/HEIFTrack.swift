internal import CWebImageCodecShims
import FoundationEssentials
import Synchronization
import WebImageCore
import WebImageFormats

/// The times of an image sequence: the first track with images (ISO/IEC 14496-12, 8.6.1.2 and 8.4.2).
struct HEIFTrack {
    let durations: [Duration]
    /// The number of times that the track is played; 0 means endlessly.
    let loopCount: Int

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
            (self.durations, loopCount) = (durations, Self.loopCount(of: track.contents))
            return
        }
        return nil
    }

    /// How often the edit list plays a track (ISO/IEC 14496-12, 8.6.6.1), as libavif counts. Without a list, browsers play it
    /// endlessly. libheif counts only lists in the clock of the track, and only in later versions.
    private static func loopCount(of track: ByteReader) -> Int {
        guard let header = BoxHeader.child("tkhd", of: track),
            let list = BoxHeader.child("edts", of: track).flatMap({ BoxHeader.child("elst", of: $0) })
        else { return 0 }
        // The lowest flag repeats the list until the track ends.
        guard let flags = list.uint8(3), flags & 1 == 1 else { return 1 }
        func ticks(_ box: ByteReader, at short: Int, _ long: Int) -> UInt64 {
            guard box.uint8(0) == 1 else { return box.uint32BE(short).map { $0 == .max ? .max : UInt64($0) } ?? 0 }
            return UInt64(box.uint32BE(long) ?? 0) << 32 | UInt64(box.uint32BE(long + 4) ?? 0)
        }
        let (whole, once) = (ticks(header, at: 20, 28), ticks(list, at: 8, 8))
        guard whole < .max, once > 0 else { return 0 }
        return max(Int(clamping: whole / once + (whole % once > 0 ? 1 : 0)), 1)
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

extension HEIFTrack {
    /// The first frame, with the animation; `nil` if libheif reads no sequences.
    func image(_ data: Data, as format: ImageFormat, _ options: DecodeOptions) throws(ImageError) -> WebImage? {
        let bytes = try FileBytes(data, options)
        guard let image = try HEIFFile(bytes.reader, options).findTrack() else { return nil }
        try options.check(image.size)
        // The first frame has the code points of the track.
        let profile = Mutex<Data?>(nil)
        let sequence = FrameSequence(
            format: format,
            size: image.size,
            durations: durations,
            loopCount: loopCount,
            hasAlpha: image.hasAlpha
        ) { () throws(ImageError) in
            let file = try HEIFFile(bytes.reader, options)
            guard file.findTrack() != nil else { throw options.badData("The track of the file is gone") }
            return { canvas throws(ImageError) in
                defer { withExtendedLifetime(bytes) {} }
                let rows = try file.decode(hasAlpha: image.hasAlpha, isDeep: false)
                profile.withLock { $0 = $0 ?? file.profile }
                guard rows.size == canvas.size else { throw options.badData("A frame of the file has another size") }
                canvas.copy(
                    PixelRows(
                        start: rows.start,
                        size: rows.size,
                        bytesPerRow: rows.bytes_per_row,
                        layout: image.hasAlpha ? .rgba : .rgb
                    )
                )
            }
        }
        return try sequence.image(data, options).converted(from: profile.withLock { $0 }, options)
    }
}
