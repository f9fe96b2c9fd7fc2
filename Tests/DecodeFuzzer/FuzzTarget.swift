import Foundation
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageSandbox

/// What bytes from outside reach besides the decoders of image files.
enum FuzzTarget {
    static let all: [String: @Sendable (Data) -> Void] = [
        "entry": entry, "data-url": dataURL, "hash": hash, "playback": playback,
        "png-rows": PNGRows.compare, "worker": worker,
    ]

    // Checksums that always match let the fuzzer reach what lies behind them.
    private static let hashes = CacheHashes(name: { _ in "" }, checksum: { _ in 0 })

    /// A file in the place of a cache entry, and the rendition that it claims to be.
    @Sendable private static func entry(_ file: Data) {
        func parse(_ tail: Data) throws(CacheEntryFile.NeedsMore) -> CacheEntryFile? {
            try CacheEntryFile(tail: tail, size: file.count, key: "k", hashes)
        }
        var parsed: CacheEntryFile?
        do throws(CacheEntryFile.NeedsMore) {
            parsed = try parse(file.suffix(64))
        } catch {
            parsed = (try? parse(file.suffix(error.byteCount))) ?? nil
        }
        guard let entry = parsed?.entry(file, hashes) else { return }
        _ = entry.response.renewed(by: entry.response)
        _ = ImageRequest.CachePolicy.standard.use(
            of: entry.response,
            headers: [:],
            now: Date(timeIntervalSince1970: 1e9)
        )
        guard let info = entry.rendition, info.size.bounded.pixelCount < 1 << 18 else { return }
        let image = RenditionCoder().decode(entry.data, info).flatMap { info.image($0, DecodeOptions()) }
        guard let image else { return }
        precondition(image.logicalWidth.isFinite && image.logicalHeight.isFinite)
        _ = DecodeSize.contain(PixelSize(width: 30, height: 20)).target(for: image.naturalSizeBeforeTransform)
    }

    /// The string of a BlurHash and the bytes of a ThumbHash, drawn at odd sizes.
    @Sendable private static func hash(_ bytes: Data) {
        if let hash = BlurHash(String(decoding: bytes, as: UTF8.self)) {
            for side in [-1, 0, 1, 7, .max] {
                for punch in [1, 0, -.infinity, .nan, 1e300] {
                    let image = hash.image(size: PixelSize(width: side, height: 3), punch: punch)
                    precondition(image == nil || side > 0 && side < 8)
                }
            }
        }
        for candidate in [ThumbHash(bytes), ThumbHash(base64: String(decoding: bytes, as: UTF8.self))] {
            guard let candidate else { continue }
            precondition(candidate.aspectRatio.isFinite && candidate.aspectRatio > 0)
            if let image = candidate.image { precondition(max(image.pixelSize.width, image.pixelSize.height) <= 32) }
        }
    }

    private static let sharedMemory = [UInt8](repeating: 7, count: 4096)

    /// The answer of a decode worker that somebody has taken over.
    @Sendable private static func worker(_ message: Data) {
        let image = message.withUnsafeBytes { message in
            sharedMemory.withUnsafeBytes { WorkerAnswer.image(message, memory: $0) }
        }
        guard let image else { return }
        // All that it claims to have is there, and can be calculated with.
        precondition(image.pixels.withUnsafeBytes { $0.reduce(0) { $0 &+ Int($1) } } >= 0)
        precondition(image.logicalWidth.isFinite && image.logicalHeight.isFinite && image.byteCount >= 0)
        _ = DecodeSize.contain(PixelSize(width: 30, height: 20)).target(for: image.naturalSizeBeforeTransform)
        if let animation = image.animation {
            precondition(animation.duration >= .zero && animation.frameCount > 1 && animation.byteCountOfFrames >= 0)
        }
        _ = image.pixels.resized(to: PixelSize(width: 2, height: 2), orientation: image.orientation)
    }

    @Sendable private static func dataURL(_ bytes: Data) {
        let text = String(decoding: bytes, as: UTF8.self)
        for candidate in [text, "data:" + text, "data:image/png;base64," + text] {
            guard let content = DataURL(candidate) else { continue }
            precondition(content.data.count <= candidate.utf8.count)
        }
        if let url = URL(string: "file:///" + text) { _ = try? LocalLoader.localPath(of: url) }
    }

    /// An animation whose durations, loops and settings are the input, played by a clock that jumps.
    @Sendable private static func playback(_ bytes: Data) {
        var rest = bytes
        func number() -> Int64 {
            let piece = rest.prefix(8)
            rest = rest.dropFirst(8)
            return piece.reduce(0) { $0 << 8 | Int64($1) }
        }
        let modes = Array(ImagePlayback.Mode.allCases)
        let mode = modes[Int(number().magnitude % UInt64(modes.count))]
        let loops = Int(number())
        let count = min(max(rest.count / 16, 2), 40)
        let animation = ImageAnimation(
            durations: (0..<count).map { _ in Duration(secondsComponent: number(), attosecondsComponent: 0) },
            loopCount: loops,
            size: PixelSize(width: 1, height: 1),
            hasAlpha: true,
            byteCount: Int(number())
        ) { fatalError("No frame is decoded") }
        let timeline = PlaybackTimeline(durations: animation.durations, mode: mode, loopCount: animation.loopCount)
        while !rest.isEmpty {
            let time = Duration(secondsComponent: number(), attosecondsComponent: 0)
            let position = timeline.position(at: time)
            precondition((0..<count).contains(position.frame))
            precondition(timeline.frames(after: position.step, count: 5).allSatisfy((0..<count).contains))
            let other = Int(number())
            precondition((0..<count).contains(timeline.frame(ofStep: other)))
            _ = (timeline.start(ofStep: other), timeline.startOfLastFrame(inLoop: other), timeline.totalDuration)
            _ = timeline.start(ofFrame: other, loop: Int(number()))
        }
    }
}
