import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageSandbox

/// Compares AVIF, HEIC and JPEG XL files with what avifdec, heif-convert and djxl make of them. Tests/corpus/codecs/make has made both.
@Suite("AVIF, HEIC and JPEG XL of every kind")
struct CodecFileTests {
    private static let sandbox = DecodeSandbox(limit: 2)

    private let here = CoderRegistry.builtIn
    private let there = CoderRegistry.builtIn(adding: [], sandbox: (CodecFileTests.sandbox, isOptional: false))

    private func difference(_ one: PixelBuffer, _ other: PixelBuffer) -> (mean: Double, largest: Int) {
        guard one.size == other.size else { return (256, 256) }
        let differences = zip(one.rgba, other.rgba).map { abs(Int($0) - Int($1)) }
        return (Double(differences.reduce(0, +)) / Double(differences.count), differences.max() ?? 0)
    }

    @Test("Each pixel is that of another decoder", arguments: CodecFile.compared)
    func conforms(file: CodecFile) throws {
        let expected = try file.expected()
        for coders in [here, there] {
            let image = try coders.decode(file.data)
            #expect(image.format == file.format && image.frameCount == 1)
            #expect(image.pixelSize == expected.pixelSize && image.naturalSize == expected.pixelSize)
            #expect(image.pixels.hasAlpha == expected.pixels.hasAlpha)
            let difference = difference(image.pixels, expected.pixels)
            #expect(
                difference.mean <= file.tolerance.mean && difference.largest <= file.tolerance.largest,
                "\(difference)"
            )
        }
    }

    @Test("The library itself decodes them, not gdk-pixbuf", arguments: [ImageFormat.avif, .heif, .jpegXL])
    func decoder(format: ImageFormat) throws {
        #expect(!(try #require(here.decoder(for: format)) is PixbufCoder))
    }

    /// The native words of deep pixels.
    private func words(_ pixels: PixelBuffer) -> [UInt16] {
        pixels.withUnsafeBytes { Array($0.bindMemory(to: UInt16.self)) }
    }

    @Test("Files of more than eight bits keep them for displays that show more", arguments: CodecFile.compared)
    func deep(file: CodecFile) throws {
        var options = DecodeOptions()
        options.keepsWideColors = true
        let expected = try file.expected(options).content.pixels
        let isNarrow = !file.name.contains("p3") && !file.name.contains("bt2020") && !file.name.contains("pq")
        guard expected.colors.isDeep, isNarrow else { return }
        for coders in [here, there] {
            let pixels = try coders.decode(file.data, options: options).content.pixels
            try #require(pixels.colors == expected.colors && pixels.format == expected.format, "\(pixels.colors)")
            let largest = zip(words(pixels), words(expected)).map { abs(Int($0) - Int($1)) }.max() ?? 0
            #expect(largest <= file.tolerance.largest * 257 + 64)
        }
    }

    @Test(
        "Colours beyond sRGB are kept for displays that show them",
        arguments: [
            "icc-p3.avif", "nclx-p3.avif", "nclx-bt2020.avif", "icc-p3.heic",
            "icc-p3.jxl",
        ]
    )
    func wide(name: String) throws {
        var options = DecodeOptions()
        options.keepsWideColors = true
        let image = try here.decode(CodecFile.named(name).data, options: options)
        #expect(image.content.pixels.colors.gamut == .displayP3)
        // What apps read is in sRGB.
        let expected = try CodecFile.named(name).expected()
        #expect(difference(image.pixels, expected.pixels).mean < 2)
        // Without conversion, the pixels are those of the file.
        options.keepsWideColors = false
        options.convertsToSRGB = false
        let raw = try here.decode(CodecFile.named(name).data, options: options)
        #expect(difference(raw.pixels, expected.pixels).mean > 2)
    }

    @Test("A smaller image looks like the whole one", arguments: CodecFile.compared)
    func scaled(file: CodecFile) throws {
        let whole = try here.decode(file.data)
        for size in [
            DecodeSize.contain(PixelSize(width: 16, height: 16)), .cover(PixelSize(width: 20, height: 9)),
            .stretch(PixelSize(width: 9, height: 12)),
        ] {
            let small = try here.decode(file.data, options: DecodeOptions(size: size))
            let target = size.target(for: whole.pixelSize)
            #expect(small.pixelSize == target && small.naturalSize == whole.pixelSize)
            let expected = try #require(whole.pixels.resized(to: target, orientation: .up))
            #expect(expected.difference(from: small.pixels) < 1, "\(size)")
            let other = try there.decode(file.data, options: DecodeOptions(size: size))
            #expect(other.pixels.straightAlpha == small.pixels.straightAlpha, "\(size)")
        }
    }

    @Test(
        "Pixels can be asked for with and without alpha",
        arguments: ["8-444.avif", "alpha.avif", "alpha.heic", "alpha.jxl"]
    )
    func pixelFormat(name: String) throws {
        let whole = try here.decode(CodecFile.named(name).data)
        for format in [PixelBuffer.Format.rgb, .rgbaPremultiplied] {
            var options = DecodeOptions()
            options.pixelFormat = format
            let image = try here.decode(CodecFile.named(name).data, options: options)
            #expect(image.pixels.format == format)
            if !whole.pixels.hasAlpha { #expect(image.pixels.rgba == whole.pixels.rgba) }
        }
    }

    @Test("Too many pixels are refused before they are decoded", arguments: CodecFile.few)
    func limit(file: CodecFile) throws {
        let error = thrownError { try here.decode(file.data, options: DecodeOptions(maximumPixelCount: 600)) }
        #expect(error?.code == .imageTooLarge, "\(error as Any)")
    }

    @Test("A side may be long, as far as the image has few pixels", arguments: ["long.avif", "long.heic"])
    func long(name: String) throws {
        // libheif 1.15 compares each side with a limit that later versions compare with the square root of the pixels.
        for coders in [here, there] {
            #expect(try coders.decode(CodecFile.named(name).data).pixelSize == PixelSize(width: 13_000, height: 64))
        }
    }

    @Test("Every file has its line, and every line its file")
    func files() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: CodecFile.folder).filter {
            !$0.hasSuffix(".png") && !["expected", "make"].contains($0)
        }
        #expect(names.sorted() == CodecFile.all.map(\.name).sorted())
    }
}
