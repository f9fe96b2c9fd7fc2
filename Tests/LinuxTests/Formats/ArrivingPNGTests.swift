import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageTesting

@Suite("PNG in parts")
struct ArrivingPNGTests {
    private func png(_ image: [String]) throws -> Data {
        // ImageMagick writes what the library's encoder does not: sixteen bits, grey, palettes, passes.
        let folder = TemporaryDirectory()
        let result = try ChildProcess.run("/usr/bin/convert", image + ["\(folder.path)/image.png"])
        try #require(result.exitCode == 0, "\(result.output)")
        return try Data(contentsOf: URL(filePath: "\(folder.path)/image.png"))
    }

    /// Feeds a file in pieces.
    /// - Returns: The image, and the partial images before it.
    private func feed(
        _ data: Data,
        pieces: Int,
        _ options: DecodeOptions = DecodeOptions()
    ) throws -> (image: WebImage, partials: [WebImage]) {
        let decoder = try #require(PNGCoder().makeIncrementalDecoder(for: .png, options: options))
        var partials: [WebImage] = []
        for offset in stride(from: 0, to: data.count, by: pieces) {
            try decoder.append(Data(data.dropFirst(offset).prefix(pieces)))
            if let partial = decoder.partialImage() { partials.append(partial) }
        }
        return (try decoder.finish(data), partials)
    }

    private func bytes(_ image: WebImage) -> [UInt8] { image.pixels.withUnsafeBytes { Array($0) } }

    @Test(
        "Every depth has the same pixels in parts as whole, with and without passes",
        arguments: [
            ["PNG:color-type=0", "PNG:bit-depth=1"], ["PNG:color-type=0", "PNG:bit-depth=8"],
            ["PNG:color-type=0", "PNG:bit-depth=16"], ["PNG:color-type=2", "PNG:bit-depth=8"],
            ["PNG:color-type=2", "PNG:bit-depth=16"], ["PNG:color-type=3", "PNG:bit-depth=4"],
            ["PNG:color-type=4", "PNG:bit-depth=16"], ["PNG:color-type=6", "PNG:bit-depth=16"],
        ],
        ["none", "PNG"]
    )
    func depths(defines: [String], interlace: String) throws {
        let colors = defines[0].hasSuffix("3") ? ["-colors", "16"] : []
        let data = try png(
            ["-size", "37x23", "gradient:red-rgba(0,20,255,0.3)", "-interlace", interlace] + colors
                + defines.flatMap { ["-define", $0] }
        )
        let whole = try PNGCoder().decode(data, options: DecodeOptions())
        for pieces in [1, 100, 1 << 20] {
            let (image, partials) = try feed(data, pieces: pieces)
            #expect(bytes(image) == bytes(whole) && image.pixels.format == whole.pixels.format)
            #expect(!partials.isEmpty && partials.allSatisfy { $0.isPartial && $0.pixelSize == whole.pixelSize })
        }
    }

    @Test("Sizes that leave passes empty end with all pixels", arguments: 1...9)
    func smallSizes(width: Int) throws {
        for height in 1...9 {
            let data = try #require(interlaced(width, height))
            let whole = try PNGCoder().decode(data, options: DecodeOptions())
            #expect(try bytes(feed(data, pieces: 3).image) == bytes(whole))
        }
    }

    /// A grey file of 8 bits with seven passes (PNG specification, 8.2), stored without compression.
    private func interlaced(_ width: Int, _ height: Int) -> Data? {
        var rows: [UInt8] = []
        for (x, y, columnStep, rowStep) in [
            (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2),
        ] where x < width {
            for row in stride(from: y, to: height, by: rowStep) {
                rows += [0] + stride(from: x, to: width, by: columnStep).map { UInt8($0 * 20 + row) }
            }
        }
        let size: [UInt8] = [0, 0, 0, UInt8(width), 0, 0, 0, UInt8(height)]
        return TestImage.png([("IHDR", size + [8, 0, 0, 0, 1]), ("IDAT", TestImage.stored(rows)), ("IEND", [])])
    }

    @Test("The first of seven passes shows the whole image coarsely")
    func passes() throws {
        let data = try png(["-size", "64x64", "gradient:red-blue", "-interlace", "PNG", "-define", "PNG:color-type=2"])
        let (image, partials) = try feed(data, pieces: 40)
        let first = try #require(partials.first { !$0.pixels.hasAlpha })
        #expect(first.difference(from: image) < 16 && first.difference(from: image) > 0)
        // Nothing is transparent from then on, and the image gets no coarser.
        let complete = partials.drop { $0.pixels.hasAlpha }
        #expect(complete.count > 3)
        let differences = complete.map { $0.difference(from: image) }
        #expect(differences == differences.sorted(by: >))
    }

    @Test("Rows appear from the top, and the rest is transparent")
    func rows() throws {
        let data = try png(["-size", "200x200", "-seed", "3", "plasma:", "-define", "PNG:color-type=2"])
        let (image, partials) = try feed(data, pieces: 4096)
        let middle = partials[partials.count / 2]
        #expect(middle.pixels.hasAlpha && middle.color(0, 0) == image.color(0, 0))
        let alpha = bytes(middle).enumerated().filter { $0.offset % 4 == 3 }.map(\.element)
        #expect(alpha.first == 255 && alpha.last == 0 && alpha == alpha.sorted(by: >))
        #expect(Set(partials.map { bytes($0) }).count == partials.count)
    }

    @Test("A profile is applied and an orientation is too, from the first partial image on")
    func profileAndOrientation() throws {
        let size = PixelSize(width: 64, height: 32)
        let red = TestImage.png(TestImage.solid(0xFF0000, size: size), with: TestProfile.swapped)
        let exif = Array("MM\0*\0\0\0\u{8}".utf8) + [0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0]
        let turned = red.prefix(33) + TestImage.chunk("eXIf", exif) + red.dropFirst(33)
        let (image, partials) = try feed(Data(turned), pieces: 10)
        for shown in partials + [image] {
            #expect(shown.pixelSize == size.transposed && shown.orientation == .right)
        }
        #expect(image.color(0, 0).isClose(to: 0x00FF00))
        #expect(partials.last?.color(31, 0).isClose(to: 0x00FF00) == true)
    }

    @Test("Bytes after the pixels do not matter, but missing pixels do")
    func ends() throws {
        let data = TestImage.quarters(size: PixelSize(width: 20, height: 20))
        #expect(try bytes(feed(data.dropLast(12), pieces: 7).image) == bytes(feed(data, pieces: 7).image))
        #expect(try bytes(feed(data + Data(repeating: 9, count: 999), pieces: 7).image).count == 1200)
        for length in stride(from: 1, to: data.count - 30, by: 5) {
            let error = thrownError { try feed(data.prefix(length), pieces: 7) }
            #expect(error?.code == .badImageData)
        }
    }

    @Test("The pixel limit holds before memory is taken")
    func limit() throws {
        let file = TestImage.png([
            ("IHDR", [0, 1, 0, 0, 0, 1, 0, 0, 8, 6, 0, 0, 0]), ("IDAT", TestImage.stored([0, 1, 2, 3])), ("IEND", []),
        ])
        let error = thrownError { try feed(file, pieces: 9) }
        #expect(error?.code == .imageTooLarge)
    }
}
