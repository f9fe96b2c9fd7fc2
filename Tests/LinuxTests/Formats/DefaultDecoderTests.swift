import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageTesting

@Suite("Choice of decoder")
struct DefaultDecoderTests {
    /// Stands in for gdk-pixbuf and records what it is asked to decode.
    private final class Recorder: ImageDecoding {
        private let decoder = PixbufCoder()
        private let decodes = Mutex<[ImageFormat]>([])

        var formats: [ImageFormat] { decodes.withLock { $0 } }

        func canDecode(_ format: ImageFormat) -> Bool { decoder.canDecode(format) }

        func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
            decodes.withLock { $0.append(ImageFormat(sniffing: data)) }
            return try decoder.decode(data, options: options)
        }

        func makeIncrementalDecoder(
            for format: ImageFormat,
            options: DecodeOptions
        ) -> (any IncrementalImageDecoding)? {
            decodes.withLock { $0.append(format) }
            return decoder.makeIncrementalDecoder(for: format, options: options)
        }
    }

    private static let size = PixelSize(width: 9, height: 7)

    /// A file of each format that the web knows, and of every kind of icon.
    private static func files() throws -> [Data] {
        let image = try WebImage(data: TestImage.quarters(size: size))
        var files = [TestImage.Format.png, .jpeg, .bmp, .tiff].map { TestImage.quarters(size: size, format: $0) }
        files += TestImage.AnimationFormat.allCases.map { TestImage.animation([0xFF, 0xFF00], size: size, format: $0) }
        files.append(try image.data(as: .webp))
        for contents in [TestBitmap.quarters(bitCount: 8).icon(), Array(files[0])] {
            for type: UInt8 in [1, 2] {
                let entry = [UInt8](repeating: 0, count: 8) + TestBitmap.long(UInt32(contents.count)) + [22, 0, 0, 0]
                files.append(Data([0, 0, type, 0, 1, 0] + entry + contents))
            }
        }
        return files
    }

    @Test("No format of the web reaches gdk-pixbuf, whole or in parts, and others do")
    func formatsOfTheWeb() throws {
        let recorder = Recorder()
        let registry = CoderRegistry.builtIn(adding: [], other: recorder)
        let files = try Self.files()
        let formats = Set(files.map { ImageFormat(sniffing: $0) })
        #expect(formats == [.jpeg, .png, .gif, .webp, .tiff, .bmp, .ico])
        for file in files {
            #expect(try registry.decode(file).format == ImageFormat(sniffing: file))
            let decoder = try registry.decoder(for: file, url: nil)
            let format = ImageFormat(sniffing: file)
            if let parts = decoder.makeIncrementalDecoder(for: format, options: DecodeOptions()) {
                try parts.append(file)
                _ = parts.partialImage()
                #expect(try parts.finish(file).format == format)
            }
        }
        #expect(recorder.formats.isEmpty)
        let rows = Array(repeating: "\"aaaaaaaaa\"", count: 7).joined(separator: ",")
        let bitmap = Data("/* XPM */ static char *a[] = {\"9 7 1 1\",\"a c #000\",\(rows)};".utf8)
        #expect(try registry.decode(bitmap).pixelSize == Self.size)
        #expect(recorder.formats == [.xpm])
    }

    @Test("An app can prefer gdk-pixbuf, whole and in parts")
    func preferringPixbuf() throws {
        // Sixteen bits: libpng rounds 0x00FF to 1, and gdk-pixbuf cuts it off to 0 unless it decodes in another process.
        let file = TestImage.png([
            ("IHDR", [0, 0, 0, 1, 0, 0, 0, 1, 16, 0, 0, 0, 0]), ("IDAT", TestImage.stored([0, 0, 0xFF])),
            ("IEND", []),
        ])
        let registry = CoderRegistry.builtIn
        #expect(try registry.decode(file).color(0, 0) == 0x010101)
        let pixbuf = PixbufCoder()
        let color = pixbuf.decodesElsewhere(.png) ? 0x010101 : 0
        registry.add(pixbuf)
        #expect(try registry.decode(file).color(0, 0) == color)
        let coder = try registry.decoder(for: file, url: nil)
        #expect(coder is PixbufCoder)
        let parts = coder.makeIncrementalDecoder(for: .png, options: DecodeOptions())
        #expect((parts == nil) == pixbuf.decodesElsewhere(.png))
        try parts?.append(file)
        if let parts { #expect(try parts.finish(file).color(0, 0) == color) }
        // It has loaders for PNG, JPEG, BMP, TIFF and GIF, and none for icons that hold a PNG.
        for file in try Self.files().prefix(6) {
            #expect(try registry.decode(file).frameCount == 1)
        }
    }

    @Test(
        "gdk-pixbuf shows parts of an image",
        .enabled(
            if: !PixbufCoder().decodesElsewhere(.png),
            "gdk-pixbuf decodes in another process, which shows no parts"
        )
    )
    func pixbufInParts() throws {
        let rows: [UInt8] = (0..<30).flatMap { _ in [0] + [UInt8](repeating: 200, count: 30 * 3) }
        let file = TestImage.png([
            ("IHDR", [0, 0, 0, 30, 0, 0, 0, 30, 8, 2, 0, 0, 0]), ("IDAT", TestImage.stored(rows)), ("IEND", []),
        ])
        let decoder = try #require(PixbufCoder().makeIncrementalDecoder(for: .png, options: DecodeOptions()))
        try decoder.append(file.prefix(1500))
        let partial = try #require(decoder.partialImage())
        #expect(partial.isPartial && partial.color(0, 0) == 0xC8C8C8 && partial.pixels.hasAlpha)
        try decoder.append(Data(file.dropFirst(1500)))
        #expect(try decoder.finish(file).color(29, 29) == 0xC8C8C8)
    }
}
