import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageTesting

/// The thumbnails are cyan where the images are red, so that each can be told from the other.
@Suite("Thumbnails in JPEG files")
struct ThumbnailTests {
    private static let red = 0xFF0000
    private static let cyan = 0x00FFFF
    private static let size = PixelSize(width: 320, height: 240)
    private static let small = PixelSize(width: 64, height: 48)

    private static func solid(_ color: Int, _ size: PixelSize) -> Data {
        TestImage.solid(UInt32(color), size: size, format: .jpeg)
    }

    private static let image = solid(red, size)
    private static let thumbnail = solid(cyan, small)

    /// The segments in which a thumbnail can be.
    private static let segments: [(name: String, bytes: [UInt8])] = {
        let cyan = [UInt8]([[UInt8]](repeating: [0, 255, 255], count: small.pixelCount).joined())
        let size = [UInt8(small.width), UInt8(small.height)]
        let extended = Array("JFXX\0".utf8)
        let palette = [UInt8](repeating: 0, count: 7 * 3) + [0, 255, 255] + [UInt8](repeating: 0, count: 248 * 3)
        let indices = [UInt8](repeating: 7, count: small.pixelCount)
        return [
            ("Exif, big endian", TestImage.exifSegment(thumbnail: thumbnail)),
            ("Exif, little endian", TestImage.exifSegment(thumbnail: thumbnail, isLittleEndian: true)),
            ("JFXX, JPEG", TestImage.segment(0xE0, extended + [0x10] + thumbnail)),
            ("JFXX, palette", TestImage.segment(0xE0, extended + [0x11] + size + palette + indices)),
            ("JFXX, pixels", TestImage.segment(0xE0, extended + [0x13] + size + cyan)),
            ("JFIF", TestImage.segment(0xE0, Array("JFIF\0".utf8) + [1, 2, 0, 0, 1, 0, 1] + size + cyan)),
        ]
    }()

    /// What a decoder shows once it has the bytes before the pixels of a file.
    private func firstPartial(_ file: Data, _ options: DecodeOptions = DecodeOptions()) throws -> WebImage? {
        let decoder = try #require(JPEGCoder().makeIncrementalDecoder(for: .jpeg, options: options))
        try decoder.append(file.prefix(TestImage.headLength(of: file)))
        let partial = decoder.partialImage()
        // It is shown once.
        #expect(decoder.partialImage() == nil)
        // The image is what it is without the thumbnail, pixel for pixel.
        try decoder.append(file.dropFirst(TestImage.headLength(of: file)))
        let (image, whole) = (try decoder.finish(file), try JPEGCoder().decode(file, options: options))
        #expect(image.pixels.straightAlpha == whole.pixels.straightAlpha && !image.isPartial)
        // A file that has arrived at once shows the same.
        let atOnce = JPEGCoder().thumbnail(in: file, options: options)
        #expect(atOnce?.pixels.straightAlpha == partial?.pixels.straightAlpha)
        return partial
    }

    private func file(_ segments: [UInt8]...) -> Data { TestImage.jpeg(Self.image, with: segments) }

    @Test("The first partial image is the thumbnail, wherever it is", arguments: ThumbnailTests.segments.map(\.name))
    func kinds(name: String) throws {
        let segment = try #require(Self.segments.first { $0.name == name }).bytes
        let partial = try #require(try firstPartial(file(segment)))
        #expect(partial.isPartial && partial.pixelSize == Self.size && partial.naturalSize == Self.size)
        #expect(partial.color(0, 0).isClose(to: Self.cyan) && partial.color(319, 239).isClose(to: Self.cyan))
    }

    @Test("A file without a thumbnail shows none")
    func none() throws {
        #expect(try firstPartial(Self.image) == nil)
    }

    @Test("It is as upright as the image, with its sizes and scale", arguments: 1...8)
    func orientation(number: Int) throws {
        // Given an image and a thumbnail with the same corners, in the colours that stand opposite each other
        let opposite = TestImage.make(size: Self.small, format: .jpeg) { x, y in
            switch (x * 2 < Self.small.width, y * 2 < Self.small.height) {
            case (true, true): 0x00FFFF
            case (false, true): 0xFF00FF
            case (true, false): 0xFFFF00
            case (false, false): 0x000000
            }
        }
        let segment = TestImage.exifSegment(thumbnail: opposite, orientation: number)
        let file = TestImage.jpeg(TestImage.quarters(size: Self.size, format: .jpeg), with: [segment])
        for size in [DecodeSize.original, .contain(PixelSize(width: 50, height: 50))] {
            var options = DecodeOptions(size: size, scale: 2)
            options.isFirstFrameOnly = true
            let whole = try JPEGCoder().decode(file, options: options)
            let partial = try #require(try firstPartial(file, options))
            #expect(partial.pixelSize == whole.pixelSize && partial.naturalSize == whole.naturalSize)
            #expect(partial.scale == whole.scale && partial.orientation == whole.orientation)
            for x in [1, whole.pixelSize.width - 2] {
                for y in [1, whole.pixelSize.height - 2] {
                    #expect(partial.color(x, y).isClose(to: whole.color(x, y) ^ 0xFFFFFF), "\(x) \(y) \(size)")
                }
            }
        }
    }

    @Test(
        "It has the size of the image in every decode size, up to a quarter of a megapixel",
        arguments: [
            DecodeSize.contain(PixelSize(width: 20, height: 20)), .cover(PixelSize(width: 33, height: 17)),
            .stretch(PixelSize(width: 31, height: 29)), .within(byteCount: 4000), .original,
        ]
    )
    func sizes(size: DecodeSize) throws {
        let options = DecodeOptions(size: size)
        let partial = try #require(try firstPartial(file(Self.segments[0].bytes), options))
        #expect(partial.pixelSize == size.target(for: Self.size) && partial.naturalSize == Self.size)
        #expect(partial.color(0, 0).isClose(to: Self.cyan))
        // Then GTK enlarges it, which costs nothing, and the layout is that of the whole image.
        let large = PixelSize(width: 1600, height: 1200)
        let file = TestImage.jpeg(Self.solid(Self.red, large), with: [Self.segments[0].bytes])
        let shown = try #require(try firstPartial(file))
        #expect(shown.naturalSize == large && shown.decodedSize == large)
        #expect(shown.pixelSize.pixelCount <= 1 << 18 && shown.pixelSize.pixelCount > 1 << 17)
    }

    @Test("Rows that arrive take the place of those of the thumbnail")
    func rows() throws {
        let noise = TestImage.make(size: Self.size, format: .jpeg) { x, y in
            0xFF0000 | UInt32(x * 77 ^ y * 1013) & 0x3F3F
        }
        let file = TestImage.jpeg(noise, with: [Self.segments[0].bytes])
        for orientation in [1, 3] {
            var file = file
            if orientation == 3 {
                file = TestImage.jpeg(noise, with: [TestImage.exifSegment(thumbnail: Self.thumbnail, orientation: 3)])
            }
            let decoder = try #require(JPEGCoder().makeIncrementalDecoder(for: .jpeg, options: DecodeOptions()))
            var shown = 0
            for offset in stride(from: 0, to: file.count, by: 2000) {
                try decoder.append(file.dropFirst(offset).prefix(2000))
                guard let partial = decoder.partialImage() else { continue }
                shown += 1
                #expect(partial.pixelSize == Self.size && !partial.pixels.hasAlpha)
                // The image fills from its stored top.
                let (last, first) = orientation == 1 ? (235, 2) : (2, 235)
                if shown > 1, offset + 2000 < file.count { #expect(partial.color(5, last).isClose(to: Self.cyan)) }
                if shown > 1 { #expect(partial.color(5, first) >> 16 > 200) }
            }
            #expect(shown > 4)
            let whole = try JPEGCoder().decode(file, options: DecodeOptions())
            #expect(try decoder.finish(file).pixels.straightAlpha == whole.pixels.straightAlpha)
        }
    }

    @Test("The first scan of a progressive file takes its place as soon as the next one begins")
    func scans() throws {
        let folder = TemporaryDirectory()
        let path = "\(folder.path)/a.jpg"
        try Self.image.write(to: URL(filePath: path))
        let result = try ChildProcess.run("jpegtran", ["-progressive", "-outfile", "\(path).p", path])
        try #require(result.exitCode == 0, "\(result.output)")
        let progressive = try Data(contentsOf: URL(filePath: "\(path).p"))
        let file = TestImage.jpeg(progressive, with: [Self.segments[0].bytes])
        let first = TestImage.headLength(of: file)
        let second = try #require(file.dropFirst(first).firstRange(of: [0xFF, 0xDA])).lowerBound
        let decoder = try #require(JPEGCoder().makeIncrementalDecoder(for: .jpeg, options: DecodeOptions()))
        try decoder.append(file.prefix(first))
        #expect(decoder.partialImage()?.color(5, 5).isClose(to: Self.cyan) == true)
        try decoder.append(file[first..<second])
        #expect(decoder.partialImage() == nil)
        try decoder.append(file[second..<second + 20])
        let partial = try #require(decoder.partialImage())
        #expect(partial.color(5, 5).isClose(to: Self.red) && partial.color(315, 235).isClose(to: Self.red))
    }

    @Test("The black bars of a camera are cut off", arguments: [(320, 180), (180, 320), (640, 120)])
    func bars(width: Int, height: Int) throws {
        // Given a thumbnail of 160x120 in which the image fills the width or the height
        let size = PixelSize(width: 160, height: 120)
        let image = PixelSize(width: width, height: height)
        let content = DecodeSize.contain(size).target(for: PixelSize(width: width * 10, height: height * 10))
        func thumbnail(around color: UInt32) -> Data {
            TestImage.make(size: size, format: .jpeg) { x, y in
                let isContent =
                    abs(2 * x + 1 - size.width) < content.width && abs(2 * y + 1 - size.height) < content.height
                return isContent ? 0x00FFFF : color
            }
        }
        let segment = TestImage.exifSegment(thumbnail: thumbnail(around: 0))
        let partial = try #require(try firstPartial(TestImage.jpeg(Self.solid(Self.red, image), with: [segment])))
        // Then it shows its content alone
        #expect(partial.pixelSize == image)
        for (x, y) in [(width / 2, height / 2), (width / 2, height / 20), (width / 20, height / 2)] {
            #expect(partial.color(x, y).isClose(to: Self.cyan), "\(x) \(y)")
        }
        // When the bars are white, the thumbnail is not that of the image
        let other = TestImage.exifSegment(thumbnail: thumbnail(around: 0xFFFFFF))
        #expect(try firstPartial(TestImage.jpeg(Self.solid(Self.red, image), with: [other])) == nil)
    }

    @Test("Without a profile of its own it has that of the image, and with another one it is left out")
    func profile() throws {
        // Given an image and a thumbnail whose red is shown as green
        let green = try JPEGCoder().decode(
            TestImage.jpeg(Self.image, with: [TestImage.profileSegment(TestProfile.swapped)]),
            options: DecodeOptions()
        ).color(5, 5)
        #expect(!green.isClose(to: Self.red))
        let segment = TestImage.exifSegment(thumbnail: Self.solid(Self.red, Self.small))
        let profile = TestImage.profileSegment(TestProfile.swapped)
        #expect(try #require(try firstPartial(file(segment, profile))).color(5, 5).isClose(to: green))
        // A thumbnail of other colours cannot be part of the image.
        let own = TestImage.jpeg(
            Self.solid(Self.red, Self.small),
            with: [TestImage.profileSegment(TestProfile.sRGB)]
        )
        let tagged = TestImage.exifSegment(thumbnail: own)
        #expect(try firstPartial(file(tagged, profile)) == nil)
    }

    @Test("It appears with the byte that ends the head of the file, and never looks otherwise")
    func everyByte() throws {
        for segment in Self.segments.map(\.bytes) {
            let file = file(segment)
            let length = TestImage.headLength(of: file)
            let bytewise = try #require(JPEGCoder().makeIncrementalDecoder(for: .jpeg, options: DecodeOptions()))
            var shown: [Int] = []
            for count in 0..<length {
                try bytewise.append(file.dropFirst(count).prefix(1))
                if let partial = bytewise.partialImage() {
                    #expect(partial.color(5, 5).isClose(to: Self.cyan))
                    shown.append(count + 1)
                }
                guard count % 61 == 0 else { continue }
                let cut = JPEGCoder().thumbnail(in: file.prefix(count), options: DecodeOptions())
                if let cut { #expect(cut.color(5, 5).isClose(to: Self.cyan)) }
            }
            #expect(shown == [length])
        }
    }

    private static let lies: [(name: String, segment: [UInt8])] = {
        let half = Data(thumbnail.prefix(thumbnail.count / 2))
        let tall = solid(cyan, PixelSize(width: 48, height: 64))
        var progressive = thumbnail
        if let frame = progressive.firstRange(of: [0xFF, 0xC0]) { progressive[frame.lowerBound + 1] = 0xC2 }
        var longer = thumbnail
        if let frame = longer.firstRange(of: [0xFF, 0xC0]) { longer[frame.lowerBound + 6] = 60 }
        func exif(start: UInt32? = nil, length: UInt32? = nil, next: UInt32 = 26) -> [UInt8] {
            TestImage.exifSegment(thumbnail: thumbnail, start: start, length: length, next: next)
        }
        func extended(_ contents: [UInt8]) -> [UInt8] { TestImage.segment(0xE0, Array("JFXX\0".utf8) + contents) }
        return [
            ("begins at the end of the world", exif(start: .max)),
            ("begins where it ends", exif(start: 56 + UInt32(thumbnail.count))),
            ("begins in the first directory", exif(start: 8)),
            ("begins at the header", exif(start: 0)),
            ("is longer than the world", exif(length: .max)),
            ("begins and ends nowhere", exif(start: .max, length: .max)),
            ("is a byte longer than the segment", exif(length: UInt32(thumbnail.count) + 1)),
            ("is empty", exif(length: 0)),
            ("is three bytes long", exif(length: 3)),
            ("has no end", exif(length: UInt32(half.count))),
            ("has a directory that is the first one", exif(next: 8)),
            ("has a directory in itself", exif(next: 60)),
            ("has a directory nowhere", exif(next: .max)),
            ("is half a file", TestImage.exifSegment(thumbnail: half)),
            ("is higher than it says", TestImage.exifSegment(thumbnail: longer)),
            ("is progressive", TestImage.exifSegment(thumbnail: progressive)),
            ("has another aspect ratio", TestImage.exifSegment(thumbnail: tall)),
            ("is tiny", TestImage.exifSegment(thumbnail: solid(cyan, PixelSize(width: 16, height: 12)))),
            ("is as large as the image", TestImage.exifSegment(thumbnail: solid(cyan, size))),
            ("is a PNG", TestImage.exifSegment(thumbnail: TestImage.solid(UInt32(cyan), size: small))),
            ("is empty, with a size", extended([0x13, 64, 48])),
            ("has no size", extended([0x13])),
            ("has a side of zero", extended([0x13, 0, 48])),
            ("has half a palette", extended([0x11, 64, 48] + [UInt8](repeating: 1, count: 384))),
            ("is of no kind", extended([0x12, 64, 48] + [UInt8](repeating: 1, count: 9216))),
            ("has no kind", extended([])),
        ]
    }()

    @Test("A thumbnail that is no small version of the image is ignored", arguments: ThumbnailTests.lies.map(\.name))
    func ignored(name: String) throws {
        let segment = try #require(Self.lies.first { $0.name == name }).segment
        #expect(try firstPartial(file(segment)) == nil)
    }

    @Test("A thumbnail of more than 512 pixels to a side is ignored")
    func large() throws {
        for (side, isShown) in [(512, true), (513, false)] {
            let thumbnail = Self.solid(Self.cyan, PixelSize(width: side, height: side))
            let image = Self.solid(Self.red, PixelSize(width: 600, height: 600))
            let file = TestImage.jpeg(image, with: [TestImage.exifSegment(thumbnail: thumbnail)])
            #expect(try (firstPartial(file) != nil) == isShown)
        }
    }

    @Test("Behind one that is damaged comes the next; the thumbnail of a thumbnail never does")
    func several() throws {
        let damaged = try #require(Self.lies.first { $0.name == "is half a file" }).segment
        let partial = try #require(try firstPartial(file(damaged, Self.segments[2].bytes)))
        #expect(partial.color(5, 5).isClose(to: Self.cyan))
        let inner = TestImage.exifSegment(thumbnail: Self.solid(0x0000FF, PixelSize(width: 40, height: 30)))
        let outer = TestImage.exifSegment(thumbnail: TestImage.jpeg(Self.thumbnail, with: [inner]))
        #expect(try #require(try firstPartial(file(outer))).color(5, 5).isClose(to: Self.cyan))
    }

    @Test("However a head is damaged, the image is the same in pieces as at once")
    func damaged() throws {
        var generator = SeededGenerator(seed: 7)
        var shownCount = 0
        for number in 0..<300 {
            var file = file(Self.segments[number % Self.segments.count].bytes)
            for _ in 0...(number % 3) {
                file[
                    Int.random(in: 2..<TestImage.headLength(of: self.file(Self.segments[0].bytes)), using: &generator)
                ] =
                    UInt8.random(in: 0...255, using: &generator)
            }
            guard ImageFormat(sniffing: file) == .jpeg,
                let decoder = JPEGCoder().makeIncrementalDecoder(for: .jpeg, options: DecodeOptions())
            else { continue }
            let whole = try? JPEGCoder().decode(file, options: DecodeOptions(maximumPixelCount: 1 << 20))
            _ = JPEGCoder().thumbnail(in: file, options: DecodeOptions())
            do throws(ImageError) {
                for offset in stride(from: 0, to: file.count, by: 512) {
                    try decoder.append(file.dropFirst(offset).prefix(512))
                    if decoder.partialImage()?.isPartial == true { shownCount += 1 }
                }
            } catch { continue }
            guard let whole, let image = try? decoder.finish(file) else { continue }
            #expect(image.pixels.straightAlpha == whole.pixels.straightAlpha, "number \(number)")
        }
        #expect(shownCount > 300)
    }
}
