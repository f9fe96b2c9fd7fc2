import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageFormats
@testable import WebImageLinux
@testable import WebImagePDF

@Suite("PDF")
struct PDFTests {
    private static let isInstalled = PopplerLibrary.installed != nil
    private static let missing: Comment = "poppler-glib is not installed"
    private let folder = TemporaryDirectory()

    /// A PDF whose pages are red, green and so on, with a black square in the lower left corner.
    /// - Parameters:
    ///   - box: Width and height in points.
    ///   - objects: Further objects, from number 100 on.
    private static func pdf(
        box: String = "72 36",
        colors: [String] = ["1 0 0", "0 1 0"],
        content: String = "",
        objects: [String] = [],
        trailer: String = ""
    ) -> Data {
        var file = "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
        let kids = colors.indices.map { "\($0 * 2 + 3) 0 R" }.joined(separator: " ")
        file += "2 0 obj\n<< /Type /Pages /Kids [\(kids)] /Count \(colors.count) >>\nendobj\n"
        for (index, color) in colors.enumerated() {
            let stream = "\(color) rg 0 0 9999 9999 re f 0 0 0 rg 0 0 18 18 re f \(content)"
            file += """
                \(index * 2 + 3) 0 obj
                << /Type /Page /Parent 2 0 R /MediaBox [0 0 \(box)] /Contents \(index * 2 + 4) 0 R
                /Resources << /XObject << /F0 100 0 R >> >> >>
                endobj
                \(index * 2 + 4) 0 obj
                << /Length \(stream.utf8.count) >>
                stream
                \(stream)
                endstream
                endobj

                """
        }
        for (index, object) in objects.enumerated() { file += "\(100 + index) 0 obj\n\(object)\nendobj\n" }
        return Data((file + "trailer\n<< /Root 1 0 R \(trailer) >>\n%%EOF\n").utf8)
    }

    private func decode(_ data: Data, _ change: (inout DecodeOptions) -> Void = { _ in }) throws -> WebImage {
        var options = DecodeOptions(url: URL(string: "file:///a.pdf"))
        change(&options)
        return try CoderRegistry.builtIn(adding: [PDFCoder()]).decode(data, options: options)
    }

    @Test("The first page shows on white at 96 pixels to the inch, or another one", .enabled(if: isInstalled, missing))
    func page() throws {
        let image = try decode(Self.pdf())
        #expect(image.format == .pdf && image.isVector && image.pixelSize == PixelSize(width: 96, height: 48))
        #expect(image.color(80, 5) == 0xFF0000 && image.color(5, 40) == 0x000000)
        let second = try decode(Self.pdf()) { $0.decoderParameters = ["page": "2"] }
        #expect(second.color(80, 5) == 0x00FF00)
        let empty = try decode(Self.pdf(colors: ["1 1 1"]))
        #expect(empty.color(80, 5) == 0xFFFFFF)
    }

    @Test(
        "A page is drawn as large as it is wanted, and anew for a larger box",
        .enabled(if: isInstalled, missing),
        arguments: [
            (DecodeSize.contain(PixelSize(width: 960, height: 960)), PixelSize(width: 960, height: 480)),
            (.contain(PixelSize(width: 10, height: 10)), PixelSize(width: 10, height: 5)),
            (.cover(PixelSize(width: 96, height: 96)), PixelSize(width: 192, height: 96)),
            (.stretch(PixelSize(width: 50, height: 50)), PixelSize(width: 50, height: 50)),
        ]
    )
    func sizes(asked: DecodeSize, expected: PixelSize) throws {
        let image = try decode(Self.pdf()) { $0.size = asked }
        #expect(image.pixelSize == expected && image.naturalSize == PixelSize(width: 96, height: 48))
        #expect(image.color(0, expected.height - 1) == 0 && image.color(expected.width - 1, 0) == 0xFF0000)
        let url = try #require(URL(string: "file:///a.pdf"))
        let larger = ImageRequest(url: url, decodeSize: .contain(PixelSize(width: 5000, height: 5000)))
        #expect(!MemoryQuery(larger).isServed(by: image))
    }

    @Test(
        "A PDF comes from files, and from the network only where the app allows it",
        .enabled(if: isInstalled, missing)
    )
    func network() async throws {
        let file = URL(filePath: "\(folder.path)/a.pdf")
        try Self.pdf().write(to: file)
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.decoders.append(PDFCoder())
        #expect(try await ImageManager(configuration: configuration).image(for: file).format == .pdf)
        let server = try LocalImageServer { _ in .ok(Self.pdf(), contentType: "image/png") }
        let url = server.url("/a")
        let strict = ImageManager(configuration: configuration)
        let error = await thrownError { try await strict.image(for: url) }
        #expect(error?.code == .formatNotAllowed && error?.remedy.contains("insert .pdf") == true)
        configuration.formats.network.insert(.pdf)
        let open = ImageManager(configuration: configuration)
        #expect(try await open.image(for: url).format == .pdf)
    }

    @Test("Without the decoder, or without poppler, the error says what to add")
    func absent() throws {
        let coder = PDFCoder(timeLimit: .seconds(1)) { nil }
        #expect(!coder.canDecode(.pdf) && !PDFCoder().canDecode(.svg))
        for registry in [CoderRegistry.builtIn, .builtIn(adding: [coder])] {
            let error = thrownError { try registry.decode(Self.pdf()) }
            #expect(error?.code == .unsupportedFormat && error?.remedy.contains("libpoppler-glib8") == true)
            #expect(error?.remedy.contains("WebImagePDF") == true)
        }
    }

    @Test("What is damaged, encrypted, empty or without such a page is refused", .enabled(if: isInstalled, missing))
    func damaged() throws {
        let whole = Self.pdf()
        // That of another password than none.
        let key = "(\(String(repeating: "k", count: 32)))"
        for file in [
            Data("%PDF-1.7".utf8), whole.prefix(60), Self.pdf(colors: []),
            Self.pdf(trailer: "/Encrypt << /Filter /Standard /V 1 /R 2 /O \(key) /U \(key) /P -4 >> /ID [(x) (x)]"),
            Data("%PDF-".utf8) + Data(repeating: 0xFF, count: 5000),
        ] {
            let error = thrownError { try decode(Data(file)) }
            let text = String(decoding: file.prefix(80), as: UTF8.self)
            #expect(error?.code == .badImageData && error?.url != nil, "\(text): \(error as Any)")
        }
        for page in ["3", "0", "-1", "x", "99999999999999999999"] {
            let error = thrownError { try decode(whole) { $0.decoderParameters = ["page": page] } }
            #expect(error?.code == .badImageData && error?.reason.contains(page) == true)
        }
    }

    @Test("A PDF that is changed at any byte is drawn or refused", .enabled(if: isInstalled, missing))
    func mutated() throws {
        let whole = Self.pdf()
        var generator = SeededGenerator(seed: 5)
        for _ in 0..<300 {
            var file = whole
            for _ in 0..<3 {
                file[Int.random(in: 5..<file.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            do {
                let image = try decode(file) { $0.size = .contain(PixelSize(width: 50, height: 50)) }
                #expect(image.pixelSize.width <= 50 && image.pixelSize.height <= 50)
            } catch let error as ImageError {
                #expect([.badImageData, .imageTooLarge].contains(error.code), "\(error)")
            }
        }
    }

    @Test("A page that claims to be huge is refused before there is memory for it", .enabled(if: isInstalled, missing))
    func huge() throws {
        for box in ["14400 14400", "1000000000 1000000000", "9000000 1"] {
            let error = thrownError { try decode(Self.pdf(box: box)) }
            #expect(error?.code == .imageTooLarge || error?.code == .badImageData, "\(box): \(error as Any)")
        }
        // What makes no sense has some size within the limit, or is refused.
        for box in ["0 0", "-9 -9", "1e300 1e300", "nan inf", String(repeating: "9", count: 400) + " 9"] {
            let image = try? decode(Self.pdf(box: box)) { $0.maximumPixelCount = 1 << 20 }
            #expect(image?.pixelSize.pixelCount ?? 0 <= 1 << 20, "\(box)")
        }
        // A box makes it no larger than the limit.
        let small = try decode(Self.pdf()) { options in
            options.size = .contain(PixelSize(width: 1 << 14, height: 1 << 14))
            options.maximumPixelCount = 100_000
        }
        #expect(small.pixelSize.pixelCount <= 100_000)
        let error = thrownError { try decode(Self.pdf()) { $0.reservedPixelCount = 1000 } }
        #expect(error?.code == .imageTooLarge && error?.unreservedPixelCount == 96 * 48)
    }

    @Test(
        "A page that takes for ever fails when its time is over, and two at most are left behind",
        .enabled(if: isInstalled, missing)
    )
    func endless() throws {
        // Given forms that draw each other ten times, six levels deep
        let forms = (0..<6).map { level in
            let inner = level == 5 ? "0 0 50 50 re f" : String(repeating: "/F\(level + 1) Do ", count: 10)
            return """
                << /Type /XObject /Subtype /Form /BBox [0 0 99 99] /Resources << /XObject << /F\(level + 1) \(101 + level) 0 R >> >>
                /Length \(inner.utf8.count) >>
                stream
                \(inner)
                endstream
                """
        }
        let file = Self.pdf(content: "/F0 Do", objects: forms)
        var coder = PDFCoder(timeLimit: .milliseconds(20))
        let leftBehind = LoaderWait.CallsLeftBehind()
        coder.leftBehind = leftBehind
        // When it is drawn
        let error = thrownError { try coder.decode(file, options: DecodeOptions(url: URL(string: "file:///a.pdf"))) }
        // Then it fails in time, and the error says who took it.
        #expect(
            error?.code == .timedOut && error?.reason.contains("poppler") == true && error?.url != nil,
            "\(error as Any)"
        )
        #expect(leftBehind.count == 1)
        // And after two of them none is drawn until they end.
        leftBehind.add(1)
        let next = thrownError { try coder.decode(Self.pdf(), options: DecodeOptions()) }
        #expect(next?.code == .decoderUnavailable, "\(next as Any)")
    }
}
