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

    @Test("A JPEG is complete only with its own end marker, not with that of an embedded preview")
    func completeJPEG() {
        let file = TestImage.solid(0x336699, size: PixelSize(width: 64, height: 64), format: .jpeg)
        func isComplete(_ data: Data) -> Bool { data.withUnsafeBytes { JPEGHeader.isComplete(ByteReader($0)) } }
        #expect(isComplete(file))
        #expect(isComplete(file + Data([0, 1, 2, 3])))
        for length in stride(from: 0, to: file.count - 1, by: 7) { #expect(!isComplete(file.prefix(length))) }

        // The application segment contains a whole JPEG, as EXIF previews do.
        var nested = Data([0xFF, 0xD8, 0xFF, 0xE1])
        let length = UInt16(file.count + 2)
        nested.append(contentsOf: [UInt8(length >> 8), UInt8(length & 255)])
        nested.append(file)
        nested.append(file.dropFirst(2))
        #expect(isComplete(nested))
        #expect(!isComplete(nested.dropLast(2)))
    }
}
