import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageSandbox

@testable import WebImageLinux

/// Files of public reports that gdk-pixbuf decodes, in Tests/corpus/reported.
@Suite("Files that others show")
struct ReportedFileTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        var size = PixelSize(width: 32, height: 32)
        /// The colour in the middle, as 0xRRGGBB.
        var color = 0xFF0000
        /// The bytes, where there is no file of the name.
        var data: Data?

        var testDescription: String { name }
    }

    private static let sandbox = DecodeSandbox(limit: 2)
    private static let small = PixelSize(width: 20, height: 10)

    private static let cases: [Case] =
        [
            Case(name: "attlist-fixed.svg"), Case(name: "ns0.svg"), Case(name: "newline.svg"),
            Case(name: "prefix.svg", size: small, color: 0x008000),
            Case(name: "currentcolor.svg", color: 0),
            Case(name: "viewbox.svg", size: PixelSize(width: 64, height: 32)),
            // libavif 0.11 reads none of the first two, and the brand avif is among the compatible ones of the third.
            Case(name: "sequence.avif", size: PixelSize(width: 24, height: 16), color: 0x848A00),
            Case(name: "no-pixi.avif", size: PixelSize(width: 24, height: 16), color: 0x848A00),
            Case(name: "major-brand-miaf.avif", size: PixelSize(width: 24, height: 16), color: 0x848A00),
            Case(name: "two-colours.xpm", size: PixelSize(width: 4, height: 2), color: 0xFFFFFF),
            Case(name: "16-and-256.icns", size: PixelSize(width: 256, height: 256), color: 0x008000),
        ]
        + [String.Encoding.utf16LittleEndian, .utf16BigEndian].map {
            Case(name: "\($0)", data: "\u{FEFF}<?xml version='1.0' encoding='UTF-16'?>\(drawing)".data(using: $0))
        }

    /// Drawings in encodings of other names, each with a letter that is not in ASCII.
    private static let encoded: [Case] = letters.map { name, letter in
        let parts = "<?xml version='1.0' encoding='\(name)'?>\(drawing)".split(separator: "LETTER")
        return Case(name: name, data: Data(parts[0].utf8) + Data(letter) + Data(parts[1].utf8))
    }

    private static let letters: [(name: String, letter: [UInt8])] = [
        ("utf8", [0xC3, 0x84]), ("UTF8", [0xC3, 0x84]), ("latin1", [0xC4]), ("iso8859-1", [0xC4]), ("koi8-r", [0xC4]),
        ("cp1252", [0xC4]), ("windows-1251", [0xC4]), ("gb2312", [0xD6, 0xD0]), ("shift_jis", [0x93, 0xFA]),
    ]

    private static let drawing = """
        <svg xmlns="http://www.w3.org/2000/svg" width="32" height="32"><rect id="LETTER" width="32" height="32" fill="#f00"/></svg>
        """

    @Test("They look the same in a worker and in the process of the app", arguments: cases + encoded)
    func shown(file: Case) throws {
        let data = try file.data ?? Self.data(file.name)
        let workers = CoderRegistry.builtIn(adding: [], sandbox: (Self.sandbox, isOptional: false))
        for coders in [.builtIn, workers] {
            var options = DecodeOptions(url: URL(string: "http://host/image"))
            options.isFirstFrameOnly = true
            let image = try coders.decode(data, options: options)
            try #require(image.pixelSize == file.size)
            let color = image.color(file.size.width / 2, file.size.height / 2)
            #expect(color.isClose(to: file.color), "\(String(color, radix: 16))")
        }
    }

    static func path(_ name: String) -> String {
        "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/corpus/reported/\(name)"
    }

    private static func data(_ name: String) throws -> Data { try Data(contentsOf: URL(filePath: path(name))) }
}
