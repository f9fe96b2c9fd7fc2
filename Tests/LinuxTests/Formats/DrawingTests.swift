import CWebImageDeflate
import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageFormats
@testable import WebImageLinux

@Suite("SVG")
struct DrawingTests {
    /// Files of drawing programs and libraries, red in the middle.
    private static let files = [
        // KanjiVG
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.0//EN" "http://www.w3.org/TR/2001/REC-SVG-20010904/DTD/svg10.dtd" [
        <!ATTLIST g xmlns:kvg CDATA #FIXED "http://kanjivg.tagaini.net" kvg:element CDATA #IMPLIED >
        ]>
        <svg xmlns="http://www.w3.org/2000/svg" width="32" height="32"><g kvg:element="x"><rect width="32" height="32" fill="#f00"/></g></svg>
        """,
        // ElementTree of Python
        """
        <ns0:svg xmlns:ns0="http://www.w3.org/2000/svg" width="32" height="32"><ns0:rect width="32" height="32" fill="#f00" /></ns0:svg>
        """,
        // Illustrator
        """
        <?xml version="1.0" encoding="utf8"?><!-- Generator: it's a <svg> --><!DOCTYPE svg [
        <!ENTITY ns_svg "http://www.w3.org/2000/svg"> <!-- ]> --> <!ENTITY colour '#f00'> <!ENTITY tags "<rect/>">]>
        <svg
        xmlns="&ns_svg;" width="32" height="32"><rect width="32" height="32" fill="&colour;"/>&tags;</svg>
        """,
        """
        <?xml version="1.0" encoding="koi8-r"?>
        <svg xmlns="http://www.w3.org/2000/svg" width="32" height="32"><rect width="32" height="32" fill="#f00"/></svg>
        """,
    ].map { Data($0.utf8) }

    private static func compressed(_ data: Data) -> Data {
        let compressor = libdeflate_alloc_compressor(6)
        defer { libdeflate_free_compressor(compressor) }
        let bytes = Array(data)
        var result = [UInt8](repeating: 0, count: libdeflate_gzip_compress_bound(compressor, bytes.count))
        result.removeLast(
            result.count - libdeflate_gzip_compress(compressor, bytes, bytes.count, &result, result.count)
        )
        return Data(result)
    }

    @Test("A file is recognised by its root element and drawn, whatever stands before it", arguments: 0..<4)
    func drawn(index: Int) throws {
        for file in [Self.files[index], Self.compressed(Self.files[index])] {
            #expect(ImageFormat(sniffing: file) == .svg)
            let image = try CoderRegistry.builtIn.decode(file)
            #expect(image.pixelSize == PixelSize(width: 32, height: 32) && image.color(16, 16) == 0xFF0000)
        }
    }

    @Test("A page, and XML with another root element, are no drawing")
    func others() {
        for text in [
            "<!DOCTYPE html><html><body><svg/>", "<!doctype html><svg/>", "\n<HTML><body><svg/>", "<svgz/>",
            "<a><svg/></a>",
            "<svg:g/>", "<!DOCTYPE a [<!ENTITY b '<svg>'>]><a/>", "<!-- <svg/> -->", "<!--><svg/>", "<?svg ?", "<",
            "svg",
        ] {
            #expect(ImageFormat(sniffing: Data(text.utf8)) == .unknown, "\(text)")
        }
    }

    /// The drawings of icon themes, and those with which librsvg is tested (librsvg2-tests).
    private static let folders = ["/usr/share/icons", "/usr/libexec/installed-tests/RSVG/fixtures/reftests"]

    @Test("The drawings of this system are recognised", arguments: folders)
    func installed(folder: String) throws {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        for name in names where name.hasSuffix(".svg") {
            guard let file = FileManager.default.contents(atPath: "\(folder)/\(name)") else { continue }
            #expect(ImageFormat(sniffing: file) == .svg, "\(name)")
        }
    }

    @Test(
        "In the process of the app, the file of a drawing has a limit",
        .enabled(if: !PixbufCoder().decodesElsewhere(.svg), "gdk-pixbuf decodes in another process")
    )
    func largest() throws {
        func file(_ byteCount: Int) -> Data {
            Self.files[1] + Data(repeating: 0x20, count: byteCount - Self.files[1].count)
        }
        #expect(try PixbufCoder().decode(file(1 << 20), options: DecodeOptions()).color(16, 16) == 0xFF0000)
        let error = thrownError {
            try PixbufCoder().decode(file(DecodeOptions.largestDrawing + 1), options: DecodeOptions())
        }
        #expect(error?.code == .imageTooLarge && error?.reason.contains("in the process of the app") == true)
        #expect(error?.remedy.contains("workers") == true)
    }

    @Test("A loader that works longer than its time ends with an error")
    func slowLoader() throws {
        // Given a filter that takes many seconds
        let filter = Data(
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="1400" height="1400"><filter id="f"><feMorphology radius="900"/>\
            </filter><rect width="1400" height="1400" filter="url(#f)"/></svg>
            """.utf8
        )
        var coder = PixbufCoder(timeLimit: .milliseconds(100))
        let leftBehind = LoaderWait.CallsLeftBehind()
        coder.leftBehind = leftBehind
        try #require(coder.canDecode(.svg))
        // When it takes longer than it may
        let error = thrownError { try coder.decode(filter, options: DecodeOptions()) }
        // Then the thread is free while the loader goes on, and the error says why
        #expect(error?.code == .timedOut && error?.reason.contains("SVG") == true)
        // A process of gdk-pixbuf's own is ended.
        if !coder.decodesElsewhere(.svg) { #expect(leftBehind.count == 1) }
        // And it is counted until it ends.
        #expect(EventLog<Int>.poll { leftBehind.count == 0 })
    }
}
