import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux

@Suite("TIFF")
struct TIFFTests {
    private func decode(_ data: Data, _ options: DecodeOptions = DecodeOptions()) throws(ImageError) -> WebImage {
        #expect(ImageFormat(sniffing: data) == .tiff)
        return try CoderRegistry.builtIn.decode(data, options: options)
    }

    private func bytes(_ image: WebImage) -> [UInt8] { image.pixels.withUnsafeBytes { Array($0) } }

    /// A file in which every colour of every pixel is another.
    private static func colorful(bitCount: Int = 8) -> TestTIFF {
        var tiff = TestTIFF(bitCount: bitCount)
        tiff.sample = { x, y, sample in UInt64(level(x, y, sample)) << UInt64(bitCount - 8) }
        return tiff
    }

    private static func level(_ x: Int, _ y: Int, _ sample: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: x * 40 + y * 9 + sample * 3)
    }

    private static let colorfulBytes = (0..<4).flatMap { y in
        (0..<6).flatMap { x in (0..<3).map { level(x, y, $0) } }
    }

    @Test(
        "Strips, tiles and planes of either byte order are decoded",
        arguments: [false, true],
        [nil, 16] as [Int?]
    )
    func arrangements(isPlanar: Bool, tileSide: Int?) throws {
        for isBigEndian in [false, true] {
            for isBigTIFF in [false, true] {
                for (rowsPerStrip, bitCount) in [(1, 8), (3, 16), (4, 8), (1000, 16)] {
                    var tiff = Self.colorful(bitCount: bitCount)
                    (tiff.isPlanar, tiff.tileSide, tiff.rowsPerStrip) = (isPlanar, tileSide, rowsPerStrip)
                    (tiff.isBigEndian, tiff.isBigTIFF) = (isBigEndian, isBigTIFF)
                    let image = try decode(tiff.file)
                    #expect(image.pixelSize == PixelSize(width: 6, height: 4) && image.format == .tiff)
                    // Sixteen bits are rounded to eight.
                    let error = zip(bytes(image), Self.colorfulBytes).map { abs(Int($0) - Int($1)) }.max() ?? 9
                    #expect(error <= (bitCount == 16 ? 1 : 0) && !image.pixels.hasAlpha)
                    #expect(ImageHeader(reading: tiff.file)?.size == image.pixelSize)
                }
            }
        }
    }

    @Test("CIE L*a*b* has the white of paper, which is the white of the screen")
    func lab() throws {
        var tiff = TestTIFF()
        tiff.photometric = 8
        // White, black, grey and a red, in sRGB by the formulas of CIE and the matrix from D50 of Bruce Lindbloom.
        let colors: [[UInt64]] = [[255, 0, 0], [0, 0, 0], [128, 0, 0], [128, 40, 20], [255, 0, 0], [0, 0, 0]]
        tiff.sample = { x, _, sample in colors[x][sample] }
        for isPlanar in [false, true] {
            tiff.isPlanar = isPlanar
            let image = try decode(tiff.file)
            let expected = [0xFFFFFF, 0x000000, 0x777777, 0xBA5958, 0xFFFFFF, 0x000000]
            for (x, color) in expected.enumerated() {
                let error = [16, 8, 0].map { abs((image.color(x, 1) >> $0 & 255) - (color >> $0 & 255)) }.max() ?? 9
                #expect(error <= 2, "\(String(image.color(x, 1), radix: 16)) instead of \(String(color, radix: 16))")
            }
        }
    }

    @Test(
        "Samples of every depth become bytes, rounded",
        arguments: [
            (1, 1, [0, 1], [0, 255]), (2, 1, [1, 2], [85, 170]), (4, 1, [7, 15], [119, 255]),
            (6, 1, [32, 63], [130, 255]), (12, 1, [2048, 4095], [128, 255]), (16, 1, [0x7FFF, 0xFF80], [127, 255]),
            (24, 1, [0x80_0000, 0xFF_FFFF], [128, 255]), (32, 1, [0x8000_0000, 0xFFFF_FFFF], [128, 255]),
            (64, 1, [1 << 63, .max], [128, 255]), (16, 3, [0x3800, 0x3C00], [128, 255]),
            (32, 3, [UInt64((0.5 as Float).bitPattern), UInt64((7 as Float).bitPattern)], [128, 255]),
            (32, 3, [UInt64(Float.nan.bitPattern), UInt64((-1 as Float).bitPattern)], [0, 0]),
            (64, 3, [Double(0.2).bitPattern, Double(1).bitPattern], [51, 255]),
        ] as [(Int, Int, [UInt64], [UInt8])]
    )
    func depths(bitCount: Int, format: Int, values: [UInt64], expected: [UInt8]) throws {
        for photometric in [0, 1] {
            var tiff = TestTIFF(width: 2, height: 1, bitCount: bitCount, sampleCount: 1, photometric: photometric)
            tiff.sampleFormat = format
            tiff.sample = { x, _, _ in values[x] }
            let levels = photometric == 0 ? expected.map { 255 - $0 } : expected
            #expect(try bytes(decode(tiff.file)) == levels.flatMap { [$0, $0, $0] })
        }
    }

    @Test("Palettes of 16 and of 8 bits are applied", arguments: [1, 2, 4, 8])
    func palettes(bitCount: Int) throws {
        for scale: UInt64 in [1, 256, 257] {
            var tiff = TestTIFF(width: 2, height: 1, bitCount: bitCount, sampleCount: 1, photometric: 3)
            tiff.palette = [UInt64](repeating: 0, count: 3 << bitCount)
            let last = 1 << bitCount - 1
            for (channel, level) in [UInt64(255), 128, 10].enumerated() {
                tiff.palette[channel << bitCount + last] = level * scale
            }
            tiff.sample = { x, _, _ in x == 0 ? 0 : UInt64(last) }
            #expect(try bytes(decode(tiff.file)) == [0, 0, 0, 255, 128, 10])
        }
    }

    @Test(
        "Straight alpha is multiplied in, premultiplied alpha is kept, and an unknown sample is ignored",
        arguments: [1, 2],
        [8, 16]
    )
    func alpha(photometric: Int, bitCount: Int) throws {
        for isPlanar in [false, true] {
            for (extra, expected): ([Int], [UInt8]) in [
                ([1], [100, 128]), ([2], [50, 128]), ([0], [100]), ([0, 2], [50, 128]), ([0, 1], [100, 128]),
            ] {
                let colors = photometric == 1 ? 1 : 3
                var tiff = TestTIFF(width: 3, height: 2, bitCount: bitCount, photometric: photometric)
                (tiff.sampleCount, tiff.extraSamples, tiff.isPlanar) = (colors + extra.count, extra, isPlanar)
                tiff.sample = { _, _, sample in
                    let level: UInt64 = sample < colors ? 100 : sample == colors + extra.count - 1 ? 128 : 33
                    return bitCount == 16 ? level * 257 : level
                }
                let image = try decode(tiff.file)
                #expect(image.pixels.hasAlpha == (expected.count == 2))
                let pixel = [UInt8](repeating: expected[0], count: 3) + expected.dropFirst()
                #expect(Array(bytes(image).suffix(pixel.count)) == pixel, "\(extra) \(isPlanar)")
            }
        }
    }

    @Test("Premultiplied colours are never above their alpha")
    func invalidAlpha() throws {
        var tiff = TestTIFF(width: 1, height: 1, sampleCount: 4, extraSamples: [1])
        tiff.sample = { _, _, sample in [200, 90, 255, 100][sample] }
        #expect(try bytes(decode(tiff.file)) == [100, 90, 100, 100])
    }

    @Test("CMYK is converted like that of JPEG, in one plane or four", arguments: [8, 16], [false, true])
    func cmyk(bitCount: Int, isPlanar: Bool) throws {
        var tiff = TestTIFF(width: 2, height: 1, bitCount: bitCount, sampleCount: 4, photometric: 5)
        tiff.isPlanar = isPlanar
        tiff.sample = { x, _, sample in
            [[255, 0, 51, 0], [0, 102, 255, 128]][x][sample] * (bitCount == 16 ? 257 : 1)
        }
        #expect(try bytes(decode(tiff.file)) == [0, 255, 204, 127, 76, 0])
    }

    @Test("All eight orientations come out the same, at any size", arguments: ImageOrientation.allCases)
    func orientations(orientation: ImageOrientation) throws {
        let upright = PixelSize(width: 8, height: 4)
        let stored = orientation.apply(to: upright)
        // The pixels of the upright image in the order in which they are stored.
        let positions = PixelBuffer(size: upright, format: .rgb) { memory in
            for index in 0..<32 { memory[index * 3] = UInt8(index * 8) }
        }
        let inverse: ImageOrientation =
            switch orientation {
            case .right: .left
            case .left: .right
            default: orientation
            }
        let turned = try #require(positions?.oriented(inverse))
        #expect(turned.size == stored)
        var tiff = TestTIFF(width: stored.width, height: stored.height, orientation: orientation.rawValue)
        tiff.rowsPerStrip = 2
        tiff.sample = { x, y, sample in turned.withUnsafeBytes { UInt64($0[(y * stored.width + x) * 3 + sample]) } }
        let image = try decode(tiff.file)
        #expect(image.pixelSize == upright && image.orientation == orientation)
        #expect((0..<32).map { image.color($0 % 8, $0 / 8) >> 16 } == (0..<32).map { $0 * 8 })
        let small = try decode(tiff.file, DecodeOptions(size: .contain(PixelSize(width: 4, height: 4))))
        #expect(small.pixelSize == PixelSize(width: 4, height: 2) && small.naturalSize == upright)
        // The mean of the pixels 0, 1, 8 and 9.
        #expect(small.color(0, 0) >> 16 == 36)
    }

    @Test("An embedded profile is applied unless the options say otherwise")
    func profile() throws {
        var tiff = TestTIFF(profile: Array(TestProfile.swapped))
        tiff.sample = { _, _, sample in sample == 0 ? 255 : 0 }
        #expect(try decode(tiff.file).color(0, 0).isClose(to: 0x00FF00))
        var options = DecodeOptions()
        options.convertsToSRGB = false
        #expect(try decode(tiff.file, options).color(0, 0) == 0xFF0000)
        // A profile of another kind than the pixels is ignored.
        (tiff.photometric, tiff.sampleCount) = (1, 1)
        tiff.sample = { _, _, _ in 77 }
        tiff.profile = [1, 2, 3, 4]
        #expect(try decode(tiff.file).color(0, 0) == 0x4D4D4D)
    }

    @Test("Only the first image is read, wherever the next one is said to be")
    func firstImage() throws {
        for next: UInt64 in [1, 8, 80, 1 << 31] {
            var tiff = Self.colorful()
            tiff.nextDirectory = next
            let image = try decode(tiff.file)
            #expect(image.frameCount == 1 && bytes(image) == Self.colorfulBytes)
        }
        // The directory names itself as the next one.
        var cyclic = Self.colorful()
        let position = cyclic.file[4..<8].enumerated().reduce(UInt64(0)) { $0 | UInt64($1.element) << ($1.offset * 8) }
        cyclic.nextDirectory = position
        #expect(try bytes(decode(cyclic.file)) == Self.colorfulBytes)
    }
}

@Suite("Hostile TIFF")
struct HostileTIFFTests {
    private func failure(_ data: Data) -> ImageError? {
        do throws(ImageError) {
            _ = try CoderRegistry.builtIn.decode(data, options: DecodeOptions(maximumPixelCount: 1 << 20))
            return nil
        } catch {
            return error
        }
    }

    private func entry(_ tag: Int, _ values: UInt64...) -> TestTIFF.Entry {
        TestTIFF.Entry(tag: tag, type: 4, values: values)
    }

    @Test("Every truncated file is an error", arguments: [false, true])
    func truncated(isBigTIFF: Bool) {
        for tileSide in [nil, 16] {
            let file = TestTIFF(tileSide: tileSide, isBigTIFF: isBigTIFF).file
            #expect(failure(file) == nil)
            // Whether there is a next directory does not matter.
            for length in 0..<file.count - (isBigTIFF ? 8 : 4) {
                #expect(failure(file.prefix(length))?.code == .badImageData, "\(length)")
            }
        }
    }

    @Test("Sizes, depths and tiles that make no sense are errors, found before memory is taken")
    func lies() {
        let lies: [[TestTIFF.Entry]] = [
            [entry(256, 0)], [entry(257, 0)], [entry(256, 1 << 31), entry(257, 1 << 31)], [entry(257, 0xFFFF_FFFF)],
            [entry(258, 65_535)], [entry(258, 0)], [entry(277, 65_535)], [entry(277, 0)], [entry(262, 4)],
            [entry(262, 9999)], [entry(339, 5)], [entry(259, 9999)],
            [entry(322, 1 << 30), entry(323, 1 << 30), entry(324, 8), entry(325, 72)],
            [entry(322, 0), entry(323, 16), entry(324, 8), entry(325, 72)],
            [entry(273, 0xFFFF_FFFF, 0xFFFF_FFFF)], [entry(273)], [entry(273), entry(279)],
            [entry(279, 0, 0), entry(273, 4000, 4000)], [entry(256, 60_000), entry(257, 60_000)],
        ]
        for changes in lies {
            for isBigEndian in [false, true] {
                let file = TestTIFF(isBigEndian: isBigEndian, changes: changes).file
                let code = failure(file)?.code
                #expect(code == .badImageData || code == .imageTooLarge, "\(changes)")
            }
        }
    }

    @Test("A narrow image does not have gigabytes of pixels decoded by its tiles")
    func manyTiles() {
        // Given 65,536 tiles of 16x262144 pixels at the same place, for a row of a million pixels
        let count = 1 << 16
        let offsets = TestTIFF.Entry(tag: 324, type: 4, values: Array(repeating: 8, count: count))
        let counts = TestTIFF.Entry(tag: 325, type: 4, values: Array(repeating: 200, count: count))
        let changes = [
            entry(256, 1 << 20), entry(257, 1), entry(322, 16), entry(323, 1 << 18), entry(258, 1), entry(277, 1),
            entry(262, 1), entry(339, 1), offsets, counts,
        ]
        #expect(failure(TestTIFF(changes: changes).file)?.code == .badImageData)
        // When a narrow image has tiles of usual size, then it is decoded
        let narrow = TestTIFF(width: 2, height: 300, tileSide: 256)
        #expect(failure(narrow.file) == nil)
    }

    @Test("Counts of values that reach beyond the file are errors or ignored")
    func counts() {
        let file = TestTIFF().file
        let directory = Int(file[4]) | Int(file[5]) << 8
        for index in 0..<Int(file[directory]) {
            for count: [UInt8] in [[0, 0, 0, 0], [255, 255, 255, 255], [0, 0, 0, 0x40], [0, 0, 1, 0]] {
                var damaged = file
                let start = directory + 2 + index * 12 + 4
                damaged.replaceSubrange(start..<start + 4, with: count)
                if let error = failure(damaged) {
                    #expect(error.code == .badImageData || error.code == .imageTooLarge)
                }
            }
        }
    }

    @Test("The error says what libtiff says")
    func message() {
        let error = failure(TestTIFF(changes: [entry(273, 9_000_000, 9_000_000)]).file)
        #expect(error?.reason.hasPrefix("The TIFF is damaged or of an unknown kind (") == true)
        #expect(error?.reason.contains("no cause is known") == false)
    }
}
