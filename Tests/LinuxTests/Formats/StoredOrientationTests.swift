import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageSandbox
import WebImageTesting

@Suite("Images as they are stored")
struct StoredOrientationTests {
    private static let size = PixelSize(width: 48, height: 32)

    /// A file of each kind that can say how it is oriented, and what makes its orientation another one.
    struct Kind: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let file: @Sendable (_ orientation: UInt8) throws -> Data
        var coder: CoderRegistry = .builtIn
    }

    private static let kinds: [Kind] = [
        Kind(testDescription: "JPEG") { value in
            CoderTests.addingOrientation(value, to: TestImage.quarters(size: size, format: .jpeg))
        },
        Kind(testDescription: "PNG") { exifPNG($0, TestImage.quarters(size: size)) },
        Kind(testDescription: "APNG") { exifPNG($0, try animation(as: .png)) },
        Kind(testDescription: "WebP") {
            try exifWebP($0, encoded(.webp, WebImage(data: TestImage.quarters(size: size))))
        },
        Kind(testDescription: "animated WebP") { try exifWebP($0, animation(as: .webp)) },
        Kind(testDescription: "TIFF") { tiff($0) },
        Kind(testDescription: "TIFF through gdk-pixbuf", file: { tiff($0) }, coder: CoderRegistry([PixbufCoder()])),
        Kind(
            testDescription: "JPEG through gdk-pixbuf",
            file: { CoderTests.addingOrientation($0, to: TestImage.quarters(size: size, format: .jpeg)) },
            coder: CoderRegistry([PixbufCoder()])
        ),
    ]

    /// Two frames with quarters in other colours.
    private static func animation(as format: ImageFormat) throws -> Data {
        let first = try WebImage(data: TestImage.quarters(size: size))
        let second = try #require(ImageTransformer.inverted.transform(first))
        let animation = ImageAnimation(
            durations: [.milliseconds(100), .milliseconds(100)],
            loopCount: 0,
            size: size,
            hasAlpha: false,
            byteCount: 0
        ) { TwoFrames(frames: [first.pixels, second.pixels]) }
        return try encoded(format, WebImage(pixels: first.pixels, animation: animation))
    }

    private final class TwoFrames: FrameDecoding {
        let frames: [PixelBuffer]

        init(frames: [PixelBuffer]) {
            self.frames = frames
        }

        func frame(at index: Int) throws(ImageError) -> PixelBuffer { frames[index] }
    }

    private static func encoded(_ format: ImageFormat, _ image: WebImage) throws -> Data {
        var options = EncodeOptions()
        options.isLossless = true
        return try image.data(as: format, options: options)
    }

    private static func tiff(_ orientation: UInt8) -> Data {
        var tiff = TestTIFF(width: size.width, height: size.height, orientation: Int(orientation))
        tiff.sample = { x, y, sample in [UInt64(x * 5), UInt64(y * 8), 0][sample] }
        return tiff.file
    }

    private static func exif(_ orientation: UInt8) -> [UInt8] {
        Array("MM\0*\0\0\0\u{8}".utf8) + [0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0, 0, 0, 0, 0]
    }

    private static func exifPNG(_ orientation: UInt8, _ file: Data) -> Data {
        file.prefix(33) + TestImage.chunk("eXIf", exif(orientation)) + file.dropFirst(33)
    }

    /// Makes an extended file of one that may be a simple one (RFC 9649, section 2.7).
    private static func exifWebP(_ orientation: UInt8, _ file: Data) -> Data {
        var chunks = Array(file.dropFirst(12))
        if chunks.starts(with: Array("VP8X".utf8)) {
            chunks[8] |= 0x08
        } else {
            let extent = [UInt8(size.width - 1), 0, 0, UInt8(size.height - 1), 0, 0]
            chunks = Bomb.chunk("VP8X", [0x08, 0, 0, 0] + extent) + chunks
        }
        return Bomb.webP(chunks + Bomb.chunk("EXIF", exif(orientation)))
    }

    private func stored(_ size: DecodeSize) -> DecodeOptions {
        var options = DecodeOptions(size: size)
        options.appliesOrientation = false
        return options
    }

    private func expectSame(_ image: WebImage, _ expected: WebImage, _ orientation: ImageOrientation) throws {
        #expect(image.pixelSize == expected.pixelSize && image.naturalSize == expected.naturalSize)
        #expect(image.orientation == orientation && image.frameCount == expected.frameCount)
        #expect(image.pixels.straightAlpha == expected.pixels.straightAlpha)
        guard let frames = image.animation?.makeDecoder(), let others = expected.animation?.makeDecoder() else {
            return
        }
        for index in [1, 0] {
            let (frame, other) = (try frames.frame(at: index), try others.frame(at: index))
            #expect(frame.straightAlpha == other.straightAlpha, "frame \(index)")
        }
    }

    @Test(
        "The pixels are those of a file that says nothing, and its orientation is known all the same",
        arguments: kinds
    )
    func pixels(kind: Kind) throws {
        for size in [DecodeSize.original, .contain(PixelSize(width: 24, height: 24))] {
            let plain = try kind.coder.decode(kind.file(1), options: DecodeOptions(size: size))
            #expect(plain.pixelSize.width > plain.pixelSize.height)
            for orientation in ImageOrientation.allCases {
                let file = try kind.file(UInt8(orientation.rawValue))
                try expectSame(kind.coder.decode(file, options: stored(size)), plain, orientation)
                // Otherwise it is turned.
                let upright = try kind.coder.decode(file, options: DecodeOptions(size: size))
                #expect(upright.naturalSize == orientation.apply(to: Self.size) && upright.orientation == orientation)
                if orientation != .up { #expect(upright.pixels.straightAlpha != plain.pixels.straightAlpha) }
            }
        }
    }

    @Test("So are those of a file that arrives in pieces, from the first of its partial images on", arguments: kinds)
    func pieces(kind: Kind) throws {
        for orientation in [ImageOrientation.right, .downMirrored] {
            let file = try kind.file(UInt8(orientation.rawValue))
            let whole = try kind.coder.decode(file, options: stored(.original))
            let format = ImageFormat(sniffing: file)
            guard let coder = kind.coder.decoder(for: format),
                let decoder = coder.makeIncrementalDecoder(for: format, options: stored(.original))
            else { continue }
            for offset in stride(from: 0, to: file.count, by: 29) {
                try decoder.append(Data(file.dropFirst(offset).prefix(29)))
                guard let partial = decoder.partialImage() else { continue }
                #expect(partial.pixelSize == Self.size && partial.naturalSize == Self.size)
            }
            try expectSame(decoder.finish(file), whole, orientation)
        }
    }

    @Test("So are those of a worker", arguments: kinds.filter { !$0.testDescription.contains("gdk") })
    func sandboxed(kind: Kind) throws {
        let sandbox = try #require(DecodeSandbox.shared)
        let there = CoderRegistry.builtIn(adding: [], sandbox: (sandbox, isOptional: false))
        let file = try kind.file(6)
        try expectSame(
            there.decode(file, options: stored(.original)),
            CoderRegistry.builtIn.decode(file, options: stored(.original)),
            .right
        )
    }

    @Test("The thumbnail in a JPEG stands as the image does")
    func thumbnail() throws {
        let small = TestImage.quarters(size: PixelSize(width: 150, height: 100), format: .jpeg)
        let segment = TestImage.exifSegment(thumbnail: small, orientation: 6)
        let file = TestImage.jpeg(
            TestImage.quarters(size: PixelSize(width: 480, height: 320), format: .jpeg),
            with: [segment]
        )
        let thumbnail = try #require(JPEGCoder().thumbnail(in: file, options: stored(.original)))
        #expect(thumbnail.isThumbnail && thumbnail.naturalSize == PixelSize(width: 480, height: 320))
        #expect(thumbnail.color(10, 10).isClose(to: 0xFF0000) && thumbnail.color(470, 10).isClose(to: 0x00FF00))
    }

    @Test("A file whose EXIF data are cut off or lie is decoded as one without", arguments: [0, 9, 255] as [UInt8])
    func lies(value: UInt8) throws {
        for kind in Self.kinds where !kind.testDescription.contains("gdk") {
            let file = try kind.file(value)
            try expectSame(
                kind.coder.decode(file, options: stored(.original)),
                kind.coder.decode(kind.file(1)),
                .up
            )
        }
    }
}
