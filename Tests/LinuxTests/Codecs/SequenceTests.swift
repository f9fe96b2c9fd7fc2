import Foundation
import Glibc
import TestSupport
import Testing
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageSandbox

@testable import WebImageCodecs

/// Plays sequence.avif, which has red, lime, blue and yellow frames, and an edit list that plays them three times. libheif reads
/// sequences since version 1.20.
@Suite("Animated AVIF")
struct SequenceTests {
    private static let readsSequences =
        dlopen("libheif.so.1", RTLD_NOW).map { dlsym($0, "heif_track_decode_next_image") != nil } ?? false
    private static let sandbox = DecodeSandbox(limit: 2)
    private static let places = [
        CoderRegistry.builtIn, CoderRegistry.builtIn(adding: [], sandbox: (sandbox, isOptional: false)),
    ]
    private static let colors: [[UInt8]] = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 0]]

    private let data = CodecFile.named("sequence.avif").data

    /// Whether the pixels are those of a frame: one opaque color, but for a translucent quarter.
    private func shows(_ pixels: PixelBuffer, _ index: Int) -> Bool {
        let (width, bytes) = (pixels.size.width, pixels.straightAlpha)
        return [(1, 1, 255), (3, 1, 255), (1, 3, 255), (3, 3, 128)].allSatisfy { x, y, alpha in
            let start = (pixels.size.height * y / 4 * width + width * x / 4) * 4
            return zip(bytes[start..<start + 4], Self.colors[index] + [UInt8(alpha)])
                .allSatisfy { abs(Int($0) - Int($1)) <= 2 }
        }
    }

    @Test("The first frame is the still image of the file")
    func still() throws {
        var options = DecodeOptions()
        options.isFirstFrameOnly = true
        for coders in Self.places {
            let image = try coders.decode(data)
            #expect(image.format == .avif && image.pixelSize == PixelSize(width: 40, height: 30))
            #expect(image.frameCount == (Self.readsSequences ? 4 : 1) && shows(image.pixels, 0))
            let first = try coders.decode(data, options: options)
            #expect(first.animation == nil && shows(first.pixels, 0))
        }
    }

    @Test(
        "The frames are there in any order, with their durations and loops",
        .enabled(if: readsSequences, "libheif before 1.20 reads no sequences")
    )
    func frames() throws {
        for coders in Self.places {
            let image = try coders.decode(data)
            let animation = try #require(image.animation)
            #expect(animation.durations == [40, 100, 250, 70].map { .milliseconds($0) } && image.loopCount == 3)
            let decoders = [animation.makeDecoder(), animation.makeDecoder()]
            for (index, other) in [(0, 1), (1, 2), (2, 3), (3, 3), (2, 0), (0, 1), (3, 2), (1, 2), (1, 0)] {
                #expect(shows(try decoders[0].frame(at: index), index), "\(index)")
                #expect(shows(try decoders[1].frame(at: other), other), "\(other)")
            }
            let size = PixelSize(width: 20, height: 15)
            let small = try coders.decode(data, options: DecodeOptions(size: .contain(size)))
            let frame = try #require(small.animation).makeDecoder().frame(at: 2)
            #expect(frame.size == size && shows(frame, 2))
        }
    }

    /// The file with other bytes in the boxes of both of its tracks.
    private func file(_ box: String, _ offset: Int, _ bytes: [UInt8]) -> Data {
        var (file, start) = (data, 0)
        while let name = file.range(of: Data(box.utf8), in: start..<file.count) {
            file.replaceSubrange(name.lowerBound + offset..<name.lowerBound + offset + bytes.count, with: bytes)
            start = name.upperBound
        }
        return file
    }

    @Test(
        "The edit list says how often the frames are played, and without one they are played endlessly",
        arguments: [
            ("edts", 0, Array("edts".utf8), 3), ("edts", 0, Array("free".utf8), 0),
            // The flag that repeats the list.
            ("elst", 7, [0], 1),
            // The duration of the track: unknown, 461 milliseconds, and less than that of the frames.
            ("tkhd", 32, Array(repeating: 255, count: 8), 0), ("tkhd", 38, [0x01, 0xCD], 2), ("tkhd", 38, [0, 9], 1),
        ] as [(String, Int, [UInt8], Int)]
    )
    func loops(box: String, offset: Int, bytes: [UInt8], count: Int) throws {
        let file = file(box, offset, bytes)
        let track = try file.withByteReader { bytes throws(ImageError) in HEIFTrack(bytes, frameLimit: 3) }
        #expect(track?.loopCount == count && track?.durations.count == 3)
        if Self.readsSequences { #expect(try Self.places[0].decode(file).loopCount == count) }
    }
}
