import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageTesting

@Suite("Coders")
struct CoderTests {
    private let registry = CoderRegistry.builtIn

    private func decode(_ data: Data, _ size: DecodeSize = .original) throws(ImageError) -> WebImage {
        try registry.decoder(for: data, url: nil).decode(data, options: DecodeOptions(size: size))
    }

    @Test("Every shipped image is decoded upright, whole and downsampled", arguments: ShippedImage.all)
    func shipped(name: String) throws {
        let data = ShippedImage.data(name)
        let header = try #require(ImageHeader(reading: data))
        let whole = try decode(data)
        #expect(whole.pixelSize == header.size)
        #expect(whole.naturalSize == header.size)
        #expect(whole.format == header.format)
        let box = DecodeSize.contain(PixelSize(width: 200, height: 150))
        let small = try decode(data, box)
        #expect(small.pixelSize == box.target(for: header.size))
        #expect(small.naturalSize == header.size)
        // It is the same image, only smaller.
        #expect(whole.difference(from: small) < 12, "\(whole.difference(from: small))")
    }

    @Test(
        "Images without alpha take three bytes a pixel, those with alpha four",
        arguments: [
            ("cat.jpg", false), ("photographer.jpg", false), ("bauhaus-poster.png", false), ("aurora.webp", false),
            ("butterfly.png", true), ("mushroom.webp", true), ("jellyfish.webp", true),
        ]
    )
    func alpha(name: String, hasAlpha: Bool) throws {
        let image = try decode(ShippedImage.data(name))
        #expect(image.pixels.hasAlpha == hasAlpha)
        #expect(image.byteCount == image.pixelSize.width * image.pixelSize.height * (hasAlpha ? 4 : 3))
    }

    @Test("A thumbnail of a photograph is as sharp as the mean of the whole file", arguments: [64, 128, 256])
    func sharpness(side: Int) throws {
        for name in ShippedImage.all where name.hasSuffix(".jpg") {
            let data = ShippedImage.data(name)
            let small = try decode(data, .contain(PixelSize(width: side, height: side)))
            let exact = try #require(try decode(data).pixels.resized(to: small.pixelSize, orientation: .up))
            let squares = exact.withUnsafeBytes { exact in
                small.pixels.withUnsafeBytes { small in
                    zip(exact, small).reduce(0) { $0 + (Int($1.0) - Int($1.1)) * (Int($1.0) - Int($1.1)) }
                }
            }
            let ratio = 10 * log10(255 * 255 / max(Double(squares) / Double(exact.byteCount), 0.001))
            #expect(ratio > 32.5, "\(name): \(ratio) dB")
        }
    }

    @Test("An image that lies on its side is turned, at any size")
    func orientation() throws {
        // The lighthouse stands on the ground: sky at the top, in the corners too.
        let image = try decode(ShippedImage.data("lighthouse.jpg"), .contain(PixelSize(width: 100, height: 100)))
        #expect(image.pixelSize == PixelSize(width: 67, height: 100))
    }

    @Test("Orientations 1 to 8 of one JPEG all come out the same", arguments: 1...8)
    func allOrientations(value: Int) throws {
        let orientation = try #require(ImageOrientation(rawValue: value))
        let upright = PixelSize(width: 64, height: 32)
        // The pixels are stored so that the upright image is red and green above blue and white.
        let stored = orientation.apply(to: upright)
        let file = TestImage.make(size: stored, format: .jpeg) { x, y in
            let (u, v) = Self.upright(x, y, stored, orientation)
            return switch (u * 2 < upright.width, v * 2 < upright.height) {
            case (true, true): 0xFF0000
            case (false, true): 0x00FF00
            case (true, false): 0x0000FF
            case (false, false): 0xFFFFFF
            }
        }
        for divisor in [1, 2, 4] {
            let size = PixelSize(width: upright.width / divisor, height: upright.height / divisor)
            let image = try decode(Self.addingOrientation(UInt8(value), to: file), .contain(size))
            #expect(image.pixelSize == size)
            for (x, y, color) in [(8, 8, 0xFF0000), (56, 8, 0x00FF00), (8, 24, 0x0000FF), (56, 24, 0xFFFFFF)] {
                let found = image.color(x / divisor, y / divisor)
                #expect(found.isClose(to: color), "(\(x), \(y)) at \(size) is \(found)")
            }
        }
    }

    @Test("A GIF whose first image is larger than its screen is shown as a whole")
    func largerThanScreen() throws {
        var file = TestImage.animation([0xFF0000, 0x00FF00], size: PixelSize(width: 12, height: 10), format: .gif)
        file[6] = 5
        file[8] = 4
        let size = PixelSize(width: 12, height: 10)
        #expect(try decode(file).pixelSize == size && ImageHeader(reading: file)?.size == size)
        // The loads of a manager are checked against their header.
        for index in 6...9 { file[index] = 0 }
        #expect(try decode(file).pixelSize == size && ImageHeader(reading: file)?.size == size)
        #expect(ImageHeader(reading: file.prefix(400)) == nil)
    }

    @Test("An animation of one frame shows the frame, not the default image, whole and in pieces")
    func hiddenDefaultImage() throws {
        let size = PixelSize(width: 12, height: 10)
        let (red, green) = (TestImage.solid(0xFF0000, size: size), TestImage.solid(0x00FF00, size: size))
        func pixels(of png: Data) throws -> [UInt8] {
            let name = try #require(png.range(of: Data("IDAT".utf8)))
            let count = png[name.lowerBound - 4..<name.lowerBound].reduce(0) { $0 << 8 | Int($1) }
            return Array(png[name.upperBound..<name.upperBound + count])
        }
        let control: [UInt8] =
            [0, 0, 0, 0, 0, 0, 0, 12, 0, 0, 0, 10] + Array(repeating: 0, count: 8) + [0, 1, 0, 1, 0, 0]
        let file = TestImage.png([
            ("IHDR", Array(red[16..<29])), ("acTL", [0, 0, 0, 1, 0, 0, 0, 0]), ("IDAT", try pixels(of: red)),
            ("fcTL", control), ("fdAT", [0, 0, 0, 1] + (try pixels(of: green))), ("IEND", []),
        ])
        let decoder = try #require(PNGCoder().makeIncrementalDecoder(for: .png, options: DecodeOptions()))
        try decoder.append(file.dropLast(20))
        #expect(decoder.partialImage() == nil)
        try decoder.append(file.suffix(20))
        for image in [try decode(file), try decoder.finish(file)] {
            #expect(image.color(5, 5) == 0x00FF00 && image.animation == nil)
        }
    }

    @Test("The control chunk of an animated PNG may come after that of the first frame")
    func lateAnimationControl() throws {
        let file = TestImage.animation([0xFF0000, 0x00FF00], size: PixelSize(width: 12, height: 10), format: .png)
        func range(_ name: String, count: Int) throws -> Range<Int> {
            let start = try #require(file.range(of: Data(name.utf8))).lowerBound - 4
            return start..<start + count + 12
        }
        let (control, frame) = (try range("acTL", count: 8), try range("fcTL", count: 26))
        #expect(control.upperBound <= frame.lowerBound)
        var late = file
        late.replaceSubrange(
            control.lowerBound..<frame.upperBound,
            with: file[frame] + file[control.upperBound..<frame.lowerBound] + file[control]
        )
        #expect(try decode(late).frameCount == 2)
        // 2^31 frames are no valid number, so that the file is a still image.
        var invalid = file
        invalid[control.lowerBound + 8] = 0x80
        #expect(try decode(invalid).animation == nil)
    }

    @Test("An SVG is recognised behind kilobytes of comments and entities")
    func longPrologue() {
        let prologue = "<?xml version=\"1.0\"?>\n<!-- " + String(repeating: "licence ", count: 600) + "-->\n"
        let svg = Data((prologue + "<svg xmlns=\"http://www.w3.org/2000/svg\"/>").utf8)
        #expect(ImageFormat(sniffing: svg) == .svg)
        for page in ["<!DOCTYPE html><html><body><svg/>", "<!doctype html><svg/>", "\n<HTML><body><svg/>"] {
            #expect(ImageFormat(sniffing: Data(page.utf8)) == .unknown)
        }
    }

    @Test(
        "A truncated image is an error, and a truncated animation has the frames before the end",
        arguments: ShippedImage.small
    )
    func prefixes(name: String) throws {
        let data = ShippedImage.data(name)
        let frameCount = try decode(data).frameCount
        let step = max(1, data.count / 60)
        for length in stride(from: 0, to: data.count - 20, by: step) {
            do throws(ImageError) {
                let image = try decode(data.prefix(length))
                #expect(image.frameCount < frameCount, "\(length) of \(data.count) bytes")
            } catch {
                #expect(error.code == .badImageData)
            }
        }
    }

    @Test("Damaged bytes produce an error or an image, never a crash", arguments: ShippedImage.small)
    func damaged(name: String) {
        var generator = SeededGenerator(seed: name.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) })
        let data = ShippedImage.data(name)
        for round in 0..<40 {
            var damaged = data
            for _ in 0...(round % 5) {
                damaged[Int.random(in: 0..<min(damaged.count, 2000), using: &generator)] = UInt8.random(
                    in: 0...255,
                    using: &generator
                )
            }
            do throws(ImageError) {
                _ = try decode(damaged, .contain(PixelSize(width: 100, height: 100)))
            } catch {
                #expect([.badImageData, .imageTooLarge, .unsupportedFormat].contains(error.code))
            }
        }
    }

    @Test(
        "A small BMP that claims gigabytes of header or of padding is rejected",
        arguments: [10, 14]
    )
    func lyingBMP(offset: Int) {
        var data = TestImage.quarters(size: PixelSize(width: 8, height: 8), format: .bmp)
        data.replaceSubrange(offset..<offset + 4, with: [0x33, 0, 0xCC, 0x7F])
        let error = thrownError { try decode(data) }
        #expect(error?.code == .badImageData)
    }

    @Test(
        "Headers that claim 60,000 x 60,000 pixels are rejected before memory is allocated",
        arguments: [
            ImageFormat.png, .gif, .bmp, .webp, .jpeg,
        ]
    )
    func bombs(format: ImageFormat) {
        let error = thrownError { try decode(Self.bomb(format)) }
        #expect(error?.code == .imageTooLarge, "\(String(describing: error))")
        #expect(error?.reason.contains("60000x60000") == true, "\(error?.reason ?? "")")
    }

    @Test(
        "An image that is fed in small pieces is the same as one decoded at once",
        arguments: [
            "deep-field.jpg", "cat.jpg", "lighthouse.jpg", "stained-glass.png", "butterfly.png", "aurora.webp",
            "mushroom.webp",
            "jellyfish.webp",
        ]
    )
    func incremental(name: String) throws {
        let data = ShippedImage.data(name)
        let format = ImageFormat(sniffing: data)
        let options = DecodeOptions(size: .contain(PixelSize(width: 300, height: 300)))
        let coder = try registry.decoder(for: data, url: nil)
        let decoder = try #require(coder.makeIncrementalDecoder(for: format, options: options))
        var partials = 0
        var start = data.startIndex
        while start < data.endIndex {
            let end = min(start + 4096, data.endIndex)
            try decoder.append(data[start..<end])
            if let partial = decoder.partialImage() {
                partials += 1
                #expect(partial.isPartial)
                #expect(partial.naturalSize == ImageHeader(reading: data)?.size)
            }
            start = end
        }
        let image = try decoder.finish(data)
        #expect(partials > 0)
        let once = try coder.decode(data, options: options)
        #expect(image.pixelSize == once.pixelSize)
        #expect(image.pixels.format == once.pixels.format)
        #expect(image.difference(from: once) < 1)
    }

    @Test(
        "Frames of an arriving animation are available as soon as they are complete",
        arguments: TestImage.AnimationFormat.allCases
    )
    func arrivingFrames(format: TestImage.AnimationFormat) throws {
        let colors: [UInt32] = [0xFF0000, 0x00FF00, 0x0000FF, 0xFFFF00, 0x00FFFF]
        let data = TestImage.animation(colors, size: PixelSize(width: 40, height: 30), loopCount: 3, format: format)
        let coder = try registry.decoder(for: data, url: nil)
        for isFirstFrameOnly in [false, true] {
            var options = DecodeOptions()
            options.isFirstFrameOnly = isFirstFrameOnly
            let decoder = try #require(
                coder.makeIncrementalDecoder(for: ImageFormat(sniffing: data), options: options)
            )
            var counts: [Int] = []
            for byte in data.indices {
                try decoder.append(data[byte..<byte + 1])
                guard let partial = decoder.partialImage() else { continue }
                #expect(partial.isPartial && partial.pixelSize == PixelSize(width: 40, height: 30))
                counts.append(partial.animation?.frameCount ?? 1)
                guard let animation = partial.animation else { continue }
                // The last frame is complete and the expected one.
                let last = try animation.makeDecoder().frame(at: animation.frameCount - 1)
                #expect(WebImage(pixels: last).firstColor == colors[animation.frameCount - 1])
            }
            #expect(counts == counts.sorted() && Set(counts) == (isFirstFrameOnly ? [1] : Set(1...5)), "\(counts)")
            // The same holds for one large piece; no frame is shown twice.
            let other = try #require(
                coder.makeIncrementalDecoder(for: ImageFormat(sniffing: data), options: options)
            )
            try other.append(data.prefix(data.count * 9 / 10))
            let most = other.partialImage()?.frameCount ?? 0
            #expect(isFirstFrameOnly ? most == 1 : most >= 3, "\(most)")
            #expect(other.partialImage() == nil)
            let whole = try decoder.finish(data)
            #expect(!whole.isPartial && whole.animation?.frameCount == (isFirstFrameOnly ? nil : 5))
            #expect(isFirstFrameOnly || whole.loopCount == 3)
        }
    }

    @Test("A second header in an animated PNG ends it and leaves its canvas alone", arguments: [0, 1, 60_000])
    func secondHeader(side: Int) throws {
        let size = PixelSize(width: 40, height: 30)
        let file = TestImage.animation([0xFF0000, 0x00FF00, 0x0000FF], size: size, format: .png)
        let number = [0, 0, UInt8(side >> 8), UInt8(side & 255)]
        let header = TestImage.chunk("IHDR", number + number + [8, 2, 0, 0, 0])
        let damaged = Data(file.dropLast(12) + header + file.suffix(12))
        let image = try decode(damaged)
        #expect(image.pixelSize == size && image.frameCount == 3)
        let decoder = try #require(image.animation?.makeDecoder())
        for index in 0..<3 { #expect(try decoder.frame(at: index).size == size) }
        let parts = try #require(PNGCoder().makeIncrementalDecoder(for: .png, options: DecodeOptions()))
        try parts.append(damaged)
        #expect(parts.partialImage()?.pixelSize == size)
    }

    @Test("The error for a format without a decoder names the package that has one")
    func unsupported() {
        let bare = CoderRegistry([], remedy: CoderRegistry.debianRemedy)
        let error = thrownError {
            try bare.decoder(for: Data("\0\0\0\u{20}ftypavif".utf8), url: nil)
        }
        #expect(error?.code == .unsupportedFormat)
        #expect(error?.remedy.contains("libheif1") == true)
    }

    @Test("An app's own format is recognised by its first bytes, without a hint")
    func ownFormat() throws {
        struct DotDecoder: ImageDecoding {
            func canDecode(_ format: ImageFormat) -> Bool { format == ImageFormat(rawValue: "dot") }

            func canDecode(_ head: Data, format: ImageFormat) -> Bool { head.starts(with: Array("DOT!".utf8)) }

            func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
                let pixels = PixelBuffer(size: PixelSize(width: 1, height: 1), format: .rgb) { $0[0] = 1 }
                return WebImage(pixels: pixels!, format: ImageFormat(rawValue: "dot"))
            }
        }
        let dot = Data("DOT!1".utf8)
        let own = CoderRegistry.builtIn
        #expect(throws: ImageError.self) { try own.decode(dot) }
        own.add(DotDecoder())
        #expect(try own.decode(dot).format.rawValue == "dot")
        #expect(try own.decode(ShippedImage.data("cat.jpg")).format == .jpeg)
    }

    @Test("An added decoder is tried first")
    func newest() throws {
        struct Special: ImageDecoding {
            func canDecode(_ format: ImageFormat) -> Bool { format == .png }
            func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
                throw ImageError(.transformFailed, url: nil, reason: "special", remedy: "none")
            }
        }
        registry.add(Special())
        let error = thrownError { try decode(ShippedImage.data("butterfly.png")) }
        #expect(error?.reason == "special")
        _ = try decode(ShippedImage.data("cat.jpg"))
    }

    @Test("Eight threads decode all shipped images at once")
    func threads() async {
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    for (index, name) in ShippedImage.all.enumerated() where index % 4 == thread % 4 {
                        let image = try? decode(ShippedImage.data(name), .contain(PixelSize(width: 90, height: 90)))
                        #expect(image != nil, "\(name)")
                    }
                }
            }
        }
    }
}

extension CoderTests {
    /// The position of a stored pixel in the upright image.
    private static func upright(_ x: Int, _ y: Int, _ stored: PixelSize, _ orientation: ImageOrientation) -> (Int, Int)
    {
        let (right, bottom) = (stored.width - 1, stored.height - 1)
        return switch orientation {
        case .up: (x, y)
        case .upMirrored: (right - x, y)
        case .down: (right - x, bottom - y)
        case .downMirrored: (x, bottom - y)
        case .leftMirrored: (y, x)
        case .right: (bottom - y, x)
        case .rightMirrored: (bottom - y, right - x)
        case .left: (y, right - x)
        }
    }

    /// Inserts an Exif segment with one tag after the first marker of a JPEG.
    static func addingOrientation(_ value: UInt8, to file: Data) -> Data {
        var exif = Array("Exif\0\0MM\0*\0\0\0\u{8}".utf8)
        exif += [0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, value, 0, 0, 0, 0, 0, 0]
        let length = UInt8(exif.count + 2)
        return file.prefix(2) + Data([0xFF, 0xE1, 0, length] + exif) + file.dropFirst(2)
    }

    private static func bomb(_ format: ImageFormat) -> Data {
        let (high, low): (UInt8, UInt8) = (0xEA, 0x60)
        switch format {
        case .png:
            return Data(
                [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
                    + [0, 0, high, low, 0, 0, high, low, 8, 2, 0, 0, 0, 0xB5, 0x15, 0x02, 0x3F]
                    + [0, 0, 0, 12] + Array("IDAT".utf8) + [UInt8](repeating: 0, count: 16)
            )
        case .gif:
            return Data(
                Array("GIF89a".utf8) + [low, high, low, high, 0x80, 0, 0] + [UInt8](repeating: 0x2C, count: 60)
            )
        case .bmp:
            var file = [UInt8](repeating: 0, count: 80)
            file.replaceSubrange(0..<2, with: Array("BM".utf8))
            file[10] = 54
            file[14] = 40
            file.replaceSubrange(18..<26, with: [low, high, 0, 0, low, high, 0, 0])
            file[26] = 1
            file[28] = 24
            return Data(file)
        case .webp:
            // The simple format ends at 16,383 x 16,383 pixels; the extended one allows more.
            var file = Array("RIFF\0\0\0\0WEBPVP8X".utf8)
            file.replaceSubrange(4..<8, with: [40, 0, 0, 0])
            file += [10, 0, 0, 0, 0x02, 0, 0, 0, 0x5F, 0xEA, 0, 0x5F, 0xEA, 0]
            file += Array("ANIM".utf8) + [6, 0, 0, 0, 0, 0, 0, 0, 0, 0]
            return Data(file)
        default:
            return Data(
                [
                    0xFF, 0xD8, 0xFF, 0xC0, 0, 17, 8, high, low, high, low, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1, 0xFF,
                    0xD9,
                ]
            )
        }
    }
}

extension WebImage {
    fileprivate var firstColor: UInt32 {
        pixels.withUnsafeBytes { UInt32($0[0]) << 16 | UInt32($0[1]) << 8 | UInt32($0[2]) }
    }
}
