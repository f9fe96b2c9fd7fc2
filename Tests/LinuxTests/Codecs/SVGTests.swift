import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@testable import WebImageSandbox

/// What librsvg draws, and what it must not read.
@Suite("Drawings of every kind")
struct SVGTests {
    private let registry = CoderRegistry.builtIn

    private static func svg(_ attributes: String, _ contents: String = quarters, before: String = "") -> Data {
        let names = "xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink'"
        return Data("\(before)<svg \(names) \(attributes)>\(contents)</svg>".utf8)
    }

    private static let quarters = """
        <rect width="24" height="16" fill="#f00"/><rect x="24" width="24" height="16" fill="#0f0"/>
        <rect y="16" width="24" height="16" fill="#00f"/><rect x="24" y="16" width="24" height="16" fill="#ff0"/>
        """

    private func colors(_ image: WebImage) -> [Int] {
        let size = image.pixelSize
        return [1, 3].flatMap { y in [1, 3].map { x in image.color(size.width * x / 4, size.height * y / 4) } }
    }

    @Test(
        "The size is that of the file in pixels of CSS, or of its viewBox",
        arguments: [
            ("viewBox='0 0 48 32'", 48, 32), ("viewBox='0 0 48 32' width='96'", 96, 64),
            ("viewBox='0 0 48 32' height='16'", 24, 16), ("viewBox='0 0 48 32' width='100%' height='100%'", 48, 32),
            ("viewBox='0 0 48 32' width='100%'", 48, 32), ("viewBox='0 0 48 32' width='1in' height='64px'", 96, 64),
            ("viewBox='0 0 48 32' width='48.00002' height='31.99'", 48, 32),
            ("viewBox='0 0 48 32' width='48pt' height='32pt'", 64, 43), ("width='48' height='32'", 48, 32),
        ]
    )
    func size(attributes: String, width: Int, height: Int) throws {
        let image = try registry.decode(Self.svg(attributes))
        #expect(image.naturalSize == PixelSize(width: width, height: height) && image.pixelSize == image.naturalSize)
        #expect(colors(image) == [0xFF0000, 0x00FF00, 0x0000FF, 0xFFFF00])
    }

    @Test("A drawing without any size has one all the same")
    func sizeless() throws {
        let image = try registry.decode(Self.svg(""))
        #expect(!image.pixelSize.isEmpty && image.pixelSize.pixelCount < 1 << 20)
    }

    @Test(
        "Without a size there is nothing to draw",
        arguments: ["width='0' height='0'", "viewBox='0 0 0 0'", "width='-5' height='3'"]
    )
    func empty(attributes: String) {
        let error = thrownError { try registry.decode(Self.svg(attributes)) }
        #expect(error == nil || error?.code == .badImageData, "\(error as Any)")
    }

    @Test(
        "A huge size is limited before memory is taken",
        arguments: ["width='1e9' height='1e9'", "viewBox='0 0 1e30 1e30'"]
    )
    func huge(attributes: String) {
        let error = thrownError { try registry.decode(Self.svg(attributes)) }
        #expect([.imageTooLarge, .badImageData].contains(error?.code), "\(error as Any)")
    }

    @Test(
        "A drawing fills the size that is asked for",
        arguments: [
            (DecodeSize.contain(PixelSize(width: 240, height: 240)), 240, 160),
            (.cover(PixelSize(width: 240, height: 240)), 360, 240),
            (.stretch(PixelSize(width: 100, height: 200)), 100, 200),
        ]
    )
    func asked(size: DecodeSize, width: Int, height: Int) throws {
        for attributes in ["viewBox='0 0 48 32'", "viewBox='0 0 48 32' width='96' height='64'"] {
            let image = try registry.decode(Self.svg(attributes), options: DecodeOptions(size: size))
            #expect(image.pixelSize == PixelSize(width: width, height: height) && image.isVector)
            #expect(colors(image) == [0xFF0000, 0x00FF00, 0x0000FF, 0xFFFF00])
            // The edge between the quarters is sharp.
            #expect(image.color(width / 2 - 2, 0) == 0xFF0000 && image.color(width / 2 + 1, 0) == 0x00FF00)
        }
    }

    @Test("What is not covered is transparent, and half of it half")
    func alpha() throws {
        let image = try registry.decode(
            Self.svg("width='40' height='20'", "<rect width='20' height='20' fill='#f00' fill-opacity='.5'/>")
        )
        let bytes = image.pixels.straightAlpha
        let (left, right) = (
            Array(bytes[(10 * 40 + 5) * 4..<(10 * 40 + 6) * 4]), Array(bytes[(10 * 40 + 30) * 4..<(10 * 40 + 31) * 4])
        )
        #expect(left[0] > 250 && left[1] < 3 && abs(Int(left[3]) - 128) <= 1 && right == [0, 0, 0, 0])
    }

    @Test("UTF-16 is read in both orders")
    func encodings() throws {
        let text =
            "<?xml version='1.0' encoding='UTF-16'?>"
            + String(decoding: Self.svg("width='48' height='32'"), as: UTF8.self)
        for (encoding, mark) in [(String.Encoding.utf16LittleEndian, [0xFF, 0xFE]), (.utf16BigEndian, [0xFE, 0xFF])] {
            let file = Data(mark.map { UInt8($0) }) + (text.data(using: encoding) ?? Data())
            #expect(colors(try registry.decode(file)) == [0xFF0000, 0x00FF00, 0x0000FF, 0xFFFF00])
        }
    }

    @Test("Text is drawn")
    func text() throws {
        let image = try registry.decode(
            Self.svg(
                "width='200' height='60'",
                "<text x='10' y='45' font-family='sans-serif' font-size='40'>Ågq</text>"
            )
        )
        let alpha = stride(from: 3, to: image.pixels.straightAlpha.count, by: 4).map { image.pixels.rgba[$0] }
        #expect(alpha.count { $0 > 128 } > 200)
    }

    private static let suite = "/usr/libexec/installed-tests/RSVG/fixtures/reftests"

    @Test(
        "The drawings of librsvg's own tests look as they should",
        .enabled(if: FileManager.default.fileExists(atPath: suite), "librsvg2-tests is not installed")
    )
    func fixtures() throws {
        let names = try FileManager.default.subpathsOfDirectory(atPath: Self.suite).filter { $0.hasSuffix("-ref.png") }
        var (count, others) = (0, [String]())
        for name in names.sorted() {
            let drawing = "\(name.dropLast(8)).svg"
            guard let file = FileManager.default.contents(atPath: "\(Self.suite)/\(drawing)"),
                let png = FileManager.default.contents(atPath: "\(Self.suite)/\(name)")
            else { continue }
            count += 1
            let expected = try registry.decode(png)
            guard let image = try? registry.decode(file), image.pixelSize == expected.pixelSize else {
                others.append(drawing)
                continue
            }
            let difference = zip(image.pixels.rgba, expected.pixels.rgba).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
            if difference > 2 * image.pixelSize.pixelCount * 4 { others.append(drawing) }
        }
        // Some depend on the language, on fonts that are not installed, and on other files.
        #expect(count > 300 && others.count * 8 < count, "\(others.count) of \(count): \(others)")
    }

    // MARK: - What a drawing must not read

    /// Ways to name another file, which is red or contains the letter that would be drawn.
    private static let references = [
        "<image width='48' height='32' href='URL'/>", "<image width='48' height='32' xlink:href='URL'/>",
        "<style>@import url('URL');</style>", "<style>@import 'URL';</style>", "<use href='URL#a'/>",
        "<use xlink:href='URL#a'/>",
        "<style>rect { fill: url('URL#a') }</style>",
        "<filter id='f'><feImage href='URL'/></filter><rect width='48' height='32' filter='url(#f)'/>",
        "<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='URL'/>",
        "<text x='0' y='32' font-size='40' fill='#f00'><xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='URL' parse='text'/></text>",
        "<rect width='48' height='32' mask='url(URL#a)'/>",
        "<style>@font-face { font-family: a; src: url(URL) }</style>",
    ]

    private static let green = "<rect width='48' height='32' fill='#080'/>"

    /// Expects that a file shows nothing of another one. It may also be refused.
    private func expectGreen(_ file: Data, _ text: String, url: URL?) {
        guard let image = try? registry.decode(file, options: DecodeOptions(url: url)) else { return }
        #expect(image.pixelSize == PixelSize(width: 48, height: 32))
        let red = image.pixels.rgba.enumerated().contains { $0.offset % 4 == 0 && $0.element > 40 }
        #expect(!red, "\(text) was read")
    }

    @Test("A drawing reads no other file")
    func otherFiles() throws {
        let folder = TemporaryDirectory()
        let red =
            "<svg xmlns='http://www.w3.org/2000/svg' width='48' height='32'><rect id='a' width='48' height='32' fill='#f00'/></svg>"
        try Data(red.utf8).write(to: URL(filePath: "\(folder.path)/red.svg"))
        try TestImage.solid(0xFF0000, size: PixelSize(width: 8, height: 8)).write(
            to: URL(filePath: "\(folder.path)/red.png")
        )
        try Data("rect { fill: #f00 !important }".utf8).write(to: URL(filePath: "\(folder.path)/red.css"))
        for name in ["red.svg", "red.png", "red.css"] {
            for target in ["file://\(folder.path)/\(name)", "\(folder.path)/\(name)", name, "./\(name)"] {
                for reference in Self.references {
                    let text = reference.replacing("URL", with: target)
                    let file = Self.svg("width='48' height='32'", Self.green + text)
                    for url in [nil, URL(filePath: "\(folder.path)/drawing.svg")] { expectGreen(file, text, url: url) }
                }
                let style = Self.svg(
                    "width='48' height='32'",
                    Self.green,
                    before: "<?xml version='1.0'?><?xml-stylesheet type='text/css' href='\(target)'?>"
                )
                expectGreen(style, "a style sheet", url: URL(filePath: "\(folder.path)/drawing.svg"))
                let entity = Self.svg(
                    "width='48' height='32'",
                    "\(Self.green)&a;",
                    before: "<!DOCTYPE svg [<!ENTITY a SYSTEM '\(target)'>]>"
                )
                expectGreen(entity, "an entity", url: URL(filePath: "\(folder.path)/drawing.svg"))
            }
        }
    }

    @Test("A drawing asks no server")
    func network() throws {
        let server = try LocalImageServer { _ in
            .ok(TestImage.solid(0xFF0000, size: PixelSize(width: 8, height: 8)), contentType: "image/png")
        }
        for reference in Self.references {
            let text = reference.replacing("URL", with: server.url("/red.png").absoluteString)
            expectGreen(Self.svg("width='48' height='32'", Self.green + text), text, url: server.url("/a.svg"))
        }
        let entity =
            "<!DOCTYPE svg [<!ENTITY % b SYSTEM '\(server.url("/b"))'> %b; <!ENTITY a SYSTEM '\(server.url("/a"))'>]>"
        expectGreen(
            Self.svg("width='48' height='32'", "\(Self.green)&a;", before: entity),
            "an entity",
            url: server.url("/a.svg")
        )
        #expect(server.requests.isEmpty)
    }

    @Test("An image inside of the file is drawn")
    func dataURL() throws {
        let png = TestImage.solid(0xFF0000, size: PixelSize(width: 8, height: 8)).base64EncodedString()
        let text =
            "\(Self.green)<image width='48' height='32' preserveAspectRatio='none' href='data:image/png;base64,\(png)'/>"
        #expect(try registry.decode(Self.svg("width='48' height='32'", text)).color(24, 16) == 0xFF0000)
    }

    // MARK: - What takes much

    private static let sandbox = DecodeSandbox(paths: [WorkerProgram.own], limit: 1, timeLimit: .seconds(5))

    @Test(
        "A drawing that grows out of a small file costs at most a worker",
        .enabled(if: DecodeSandbox.shared?.isFenced(.svg) == true, "This kernel has no Landlock")
    )
    func bombs() throws {
        let coders = CoderRegistry.builtIn(adding: [], sandbox: (Self.sandbox, isOptional: false))
        let laughs = (1...9).map { "<!ENTITY l\($0) '\(String(repeating: "&l\($0 - 1);", count: 10))'>" }.joined()
        let uses = (1...20).map { "<g id='u\($0)'>\(String(repeating: "<use href='#u\($0 - 1)'/>", count: 10))</g>" }
            .joined()
        func nested(_ count: Int) -> String {
            String(repeating: "<g>", count: count) + "<rect width='9' height='9'/>"
                + String(repeating: "</g>", count: count)
        }
        let files = [
            Self.svg(
                "width='48' height='32'",
                "<text>&l9;</text>",
                before: "<!DOCTYPE svg [<!ENTITY l0 'ha'>\(laughs)]>"
            ),
            Self.svg(
                "width='48' height='32'",
                "<defs><rect id='u0' width='9' height='9'/>\(uses)</defs><use href='#u20'/>"
            ),
            Self.svg(
                "width='48' height='32'",
                "<pattern id='p' width='1' height='1'><rect fill='url(#p)' width='9' height='9'/></pattern><rect width='48' height='32' fill='url(#p)'/>"
            ),
            Self.svg("width='48' height='32'", nested(1000)), Self.svg("width='48' height='32'", nested(200_000)),
            Self.svg(
                "width='48' height='32'",
                "<path d='\(String(repeating: "M0 0L9 9", count: 200_000))' stroke='red'/>"
            ),
        ]
        let codes: [ImageError.Code?] = [nil, .badImageData, .imageTooLarge, .decoderCrashed, .decoderTimedOut]
        for (index, file) in files.enumerated() {
            let error = thrownError {
                try coders.decode(file, options: DecodeOptions(url: URL(string: "https://host/a.svg")))
            }
            #expect(codes.contains(error?.code), "\(index): \(error as Any)")
        }
        // And the next one is drawn.
        #expect(
            colors(try coders.decode(Self.svg("width='48' height='32'"))) == [0xFF0000, 0x00FF00, 0x0000FF, 0xFFFF00]
        )
    }
}
