import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Image headers")
struct ImageHeaderTests {
    @Test(
        "The format is detected from the content",
        arguments: [
            ([0xFF, 0xD8, 0xFF, 0xE0], ImageFormat.jpeg),
            ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], .png),
            (Array("GIF89a".utf8), .gif),
            (Array("RIFF\0\0\0\0WEBPVP8 ".utf8), .webp),
            ([0x49, 0x49, 0x2A, 0x00], .tiff),
            ([0x4D, 0x4D, 0x00, 0x2A], .tiff),
            (Array("BM\0\0\0\0\0\0\0\0".utf8), .bmp),
            ([0, 0, 1, 0, 1, 0], .ico),
            (Array("\0\0\0\u{20}ftypavif".utf8), .avif),
            (Array("\0\0\0\u{20}ftypheic".utf8), .heif),
            (Array("\0\0\0\u{18}ftypmif1\0\0\0\0avif....".utf8), .avif),
            (Array("\0\0\0\u{0C}JXL ".utf8), .jpegXL),
            (Array("%PDF-1.7".utf8), .pdf),
            (Array(" <?xml version='1.0'?><svg xmlns='x'/>".utf8), .svg),
            (Array("<!DOCTYPE html><html><svg></svg>".utf8), .unknown),
            (Array("Internal error".utf8), .unknown),
            (Array("Bitmaps are fun".utf8), .unknown),
            ([], .unknown),
        ] as [([UInt8], ImageFormat)]
    )
    func formats(bytes: [UInt8], expected: ImageFormat) {
        #expect(ImageFormat(sniffing: Data(bytes)) == expected)
    }

    @Test(
        "The size of real files is read from their headers",
        arguments: [TestImage.Format.png, .jpeg, .bmp, .tiff]
    )
    func sizes(format: TestImage.Format) throws {
        let file = TestImage.solid(0x336699, size: PixelSize(width: 31, height: 17), format: format)
        let header = try #require(ImageHeader(reading: file))
        #expect(header.size == PixelSize(width: 31, height: 17))
        #expect(header.format.rawValue == format.rawValue)
        #expect(header.orientation == .up)
    }

    @Test(
        "The orientation of the shipped images is read",
        arguments: [
            ("lighthouse.jpg", ImageOrientation.right, PixelSize(width: 1000, height: 1500)),
            ("raccoon.jpg", .down, PixelSize(width: 1024, height: 768)),
            ("misty-forest.jpg", .left, PixelSize(width: 1120, height: 1400)),
        ]
    )
    func orientations(name: String, orientation: ImageOrientation, size: PixelSize) throws {
        let header = try #require(ImageHeader(reading: ShippedImage.data(name)))
        #expect(header.orientation == orientation)
        #expect(header.size == size)
    }

    @Test("The working memory of a JPEG is that of its coefficients when it comes in several scans")
    func coefficients() throws {
        /// The markers of a file with 40 x 20 pixels.
        func file(_ frame: UInt8, _ factors: [UInt8], inScan count: Int) -> Data {
            var file: [UInt8] = [0xFF, 0xD8, 0xFF, frame, 0, UInt8(8 + factors.count * 3), 8, 0, 20, 0, 40]
            file.append(UInt8(factors.count))
            for (index, factor) in factors.enumerated() { file += [UInt8(index), factor, 0] }
            file += [0xFF, 0xDA, 0, UInt8(6 + count * 2), UInt8(count)] + [UInt8](repeating: 0, count: count * 2 + 3)
            return Data(file)
        }
        func bytes(_ data: Data) throws -> Int? { try #require(ImageHeader(reading: data)).workingByteCount }
        // A sequential file in one scan needs none, in three that of 40 x 24 coefficients of two bytes a channel.
        #expect(try bytes(file(0xC0, [0x22, 0x11, 0x11], inScan: 3)) == 0)
        #expect(try bytes(file(0xC0, [0x11, 0x11, 0x11], inScan: 1)) == 40 * 24 * 2 * 3)
        #expect(try bytes(file(0xC1, [0x22, 0x11, 0x11], inScan: 1)) == 40 * 24 * 2 * 6 / 4)
        #expect(try bytes(file(0xC2, [0x11, 0x11, 0x11, 0x11], inScan: 4)) == 40 * 24 * 2 * 4)
        // What has not arrived is not known.
        #expect(try bytes(file(0xC0, [0x11, 0x11, 0x11], inScan: 1).prefix(21)) == nil)
    }

    @Test("The size of an icon is that of its largest image, whatever its directory says")
    func icon() throws {
        let images = [3, 300].map { TestImage.solid(0, size: PixelSize(width: $0, height: 2)) }
        var file: [UInt8] = [0, 0, 1, 0, 2, 0]
        var offset = 6 + 32
        for image in images {
            file += [1, 1, 0, 0, 1, 0, 32, 0, 0, 0, 0, 0, UInt8(offset & 255), UInt8(offset >> 8), 0, 0]
            offset += image.count
        }
        let header = try #require(ImageHeader(reading: Data(file) + images[0] + images[1]))
        #expect(header.format == .ico && header.size == PixelSize(width: 300, height: 2))
        #expect(ImageHeader(reading: Data(file.prefix(30))) == nil)
    }

    @Test("The size of an AVIF or HEIF is that of its largest item", arguments: ["avif", "heic"])
    func boxes(brand: String) throws {
        func box(_ name: String, _ contents: [UInt8]) -> [UInt8] {
            let length = contents.count + 8
            return [0, 0, UInt8(length >> 8), UInt8(length & 255)] + Array(name.utf8) + contents
        }
        func extents(_ width: UInt8, _ height: UInt8) -> [UInt8] {
            box("ispe", [0, 0, 0, 0, 0, 0, 1, width, 0, 0, 0, height])
        }
        let properties = extents(0, 16) + box("colr", [1, 2]) + extents(44, 200) + box("av1C", [0x81, 0, 0x40, 0])
        let meta = box(
            "meta",
            [0, 0, 0, 0] + box("hdlr", [1]) + box("iprp", box("ipco", properties) + box("ipma", []))
        )
        let file = box("ftyp", Array(brand.utf8) + [0, 0, 0, 0]) + box("free", [0]) + meta + box("mdat", [1, 2, 3])
        let header = try #require(ImageHeader(reading: Data(file)))
        #expect(header.size == PixelSize(width: 256 + 44, height: 200))
        #expect(header.workingByteCount == 300 * 200 * 26)
        for count in 0..<(file.count - 12) {
            #expect(ImageHeader(reading: Data(file.prefix(count)))?.size.width != 256)
        }
        #expect(ImageHeader(reading: Data(file.prefix(file.count - 12))) == nil)
    }

    @Test(
        "The size of an AVIF or HEIF with tracks is that of the largest of them and of its items",
        arguments: [false, true]
    )
    func tracks(hasItem: Bool) throws {
        func box(_ name: String, _ contents: [UInt8]) -> [UInt8] {
            let length = contents.count + 8
            return [0, 0, UInt8(length >> 8), UInt8(length & 255)] + Array(name.utf8) + contents
        }
        func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
        /// A track of 512 x 256 pixels whose samples have other sizes.
        func track(_ width: UInt8, _ height: UInt8) -> [UInt8] {
            let sample = zeros(24) + [width, 0, height, 0] + zeros(50) + box("av1C", [0x81, 0, 0x40, 0])
            let samples = zeros(8) + box("av01", sample)
            let media = box("mdia", box("minf", box("stbl", box("stsd", samples))))
            return box("trak", box("tkhd", zeros(76) + [2, 0, 0, 0, 1, 0, 0, 0]) + media)
        }
        let item = box(
            "meta",
            zeros(4) + box("iprp", box("ipco", box("ispe", zeros(4) + [0, 0, 0, 50, 0, 0, 0, 50])))
        )
        func file(_ tracks: [UInt8]) -> Data {
            Data(box("ftyp", Array("avis".utf8) + zeros(4)) + (hasItem ? item : []) + box("moov", tracks))
        }
        let header = try #require(ImageHeader(reading: file(track(1, 1) + track(16, 8))))
        #expect(header.format == .avif && header.size == PixelSize(width: 4096, height: 2048))
        #expect(header.workingByteCount == 4096 * 2048 * 26)
        #expect(ImageHeader(reading: file(track(1, 1)))?.size == PixelSize(width: 512, height: 256))
    }

    @Test(
        "No prefix and no damaged byte of a header traps or changes the format",
        arguments: ShippedImage.oneOfEach
    )
    func hostileHeaders(name: String) {
        let head = ShippedImage.data(name).prefix(700)
        let format = ImageFormat(sniffing: head)
        for length in 0...head.count {
            if let header = ImageHeader(reading: head.prefix(length)) { #expect(header.format == format) }
        }
        for index in head.indices {
            for value: UInt8 in [0x00, 0x01, 0x7F, 0x80, 0xFF] {
                var damaged = head
                damaged[index] = value
                _ = ImageHeader(reading: damaged)
            }
        }
    }
}
