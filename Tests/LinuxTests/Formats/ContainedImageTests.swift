import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageLinux

@Suite("Images inside of files")
struct ContainedImageTests {
    private static let large = Bomb.png(width: 300, height: 300)
    private static let small = TestImage.solid(0xFF0000, size: PixelSize(width: 10, height: 10))

    private func svg(_ content: String, head: String = "") -> Data {
        Data(
            """
            \(head)<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="10" \
            height="10">\(content)</svg>
            """.utf8
        )
    }

    private func check(_ svg: Data) -> ImageError? {
        thrownError { try ContainedImages.check(svg, .svg, options: DecodeOptions(maximumPixelCount: 50_000)) }
    }

    @Test(
        "An image beyond the limit is found however its URL is written",
        arguments: [
            "<image href=\"data:image/png;base64,BASE64\"/>", "<image xlink:href='data:image/png;base64,BASE64'/>",
            "<image href=\" DATA:image/png;x=y;base64,\n BASE64\"/>", "<image href=\"data:;base64,BASE64\"/>",
            "<image href=\"data:text/plain;base64,BASE64\"/>", "<feImage href=\"data:image/png;base64,&#10;BASE64\"/>",
            "<image href=\"data:image/png;base64,SMALL\"/><image href=\"data:image/png;base64,BASE64\"/>",
            "<image href=\"d&#97;ta:image/png;base64,BASE64\"/>", "<image href=\"&#x64;ata:image/png;base64,BASE64\"/>",
            "<image href=\"data&#58;image/png;base64,BASE64\"/>", "<image href=\"data:image/png&#59;base64,BASE64\"/>",
            "<image href=\"data:imag&#101;/png;base64,BASE64\"/>", "<image href=\"data:image/png,%89PNG\"/>",
            "<image href=\"data:image/svg+xml;base64,PHN2ZyB3aWR0aD0iOSIvPg==\"/>",
            "<image href=\"da&#10;ta:image/png;base64,BASE64\"/>", "<image href=\"&#9;d\nata:;base64,BASE64\"/>",
            "<image href=\"data:image/png;base64,%42BASE64\"/>", "<image href=\"data:image/png; BASE64 ,BASE64\"/>",
            "<x:image xmlns:x=\"http://www.w3.org/2000/svg\" y:href=\"data:;base64,BASE64\" xmlns:y=\"z\"/>",
            "<image a='>' href='data:image/png;base64,BASE64'/>", "<!-- <!-- --><image href='data:,'/>",
            "<!--><![CDATA[--><image href='data:image/png;base64,BASE64'/><!-- ]]> -->",
            "<![CDATA[<!--]]><image href='data:image/png;base64,BASE64'/><!-- -->",
            "<?a <!-- ?><image href='data:image/png;base64,BASE64'/><!-- -->",
            "<image href=\"data:image/svg+xml,%3Csvg width='400' height='400'/%3E\"/>",
            "<image href=\"data:image/svg+xml,<svg/>\"/>", "<image href=\"data:image/svg+xml;base64,NESTED\"/>",
            "<rect fill=\"url(data:image/svg+xml;base64,NESTED#a)\"/>", "<use href=\"data:;base64,NESTED#a\"/>",
            "<rect style=\"fill:url(\\64 ata:image/svg+xml;base64,NESTED#a)\"/>",
            "<rect style=\"fill:url(\\000044\\41 TA:image/svg+xml;base64,NESTED#a)\"/>",
            "<style>@import 'data:text/css,x'</style>", "<style>a { fill: url(da<!-- -->ta:;base64,NESTED#a) }</style>",
            "<style>a { fill: url(<![CDATA[data:;base64,NESTED]]>#a) }</style>",
            "<xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"data:;base64,NESTED\"/>",
            "<?xml-stylesheet href=\"data:text/css,a%7B%7D\"?>", "<image href=\"data:image/png;base64,*\"/>",
        ]
    )
    func svg(content: String) {
        let nested = svg("<image href=\"data:;base64,\(Self.large.base64EncodedString())\"/>")
        let content = content.replacing("; BASE64 ", with: "; base64 ")
            .replacing("BASE64", with: Self.large.base64EncodedString())
            .replacing("SMALL", with: Self.small.base64EncodedString())
            .replacing("NESTED", with: nested.base64EncodedString())
        let error = check(svg(content))
        #expect(error?.code == .imageTooLarge || error?.code == .badImageData)
        #expect(error?.reason.isEmpty == false && error?.remedy.isEmpty == false)
    }

    @Test("An SVG within an SVG counts at the size at which it is drawn, with its images, four levels deep at most")
    func nested() {
        func image(_ content: Data) -> String { "<image href=\"data:;base64,\(content.base64EncodedString())\"/>" }
        func drawing(_ attributes: String, _ content: String = "") -> Data {
            Data("<svg xmlns=\"http://www.w3.org/2000/svg\" \(attributes)>\(content)</svg>".utf8)
        }
        for size in ["width='100' height='200px'", "width='1in' height='50mm'", "viewBox='0 0 100 100'"] {
            #expect(check(svg(image(drawing(size)))) == nil, "\(size)")
        }
        for size in [
            "width='300' height='300'", "width='10in' height='1in'", "viewBox='0,0,300,300' width='100%'",
            "width='10em'",
            "", "width='1' height='1' style='width:9in'", "width='nan' height='1'", "width='1e99' height='1e99'",
        ] {
            #expect(check(svg(image(drawing(size)))) != nil, "\(size)")
        }
        #expect(check(svg(image(drawing("width='1' height='1'", image(Self.small))))) == nil)
        #expect(check(svg(image(drawing("width='1' height='1'", image(Self.large))))) != nil)
        #expect(check(svg(image(drawing("width='1' height='1'", "<style>svg { width: 9in }</style>")))) != nil)
        var deep = drawing("width='1' height='1'")
        for level in 1...4 {
            #expect((check(svg(image(deep))) == nil) == (level < 4), "\(level)")
            deep = drawing("width='1' height='1'", image(deep))
        }
    }

    @Test(
        "The time of a search grows with the length of a file only",
        arguments: [
            "data:", "<a b='data:", "<a b='data:,", "<a b='data:;base64,A", "&amp;", "<a b='&amp;", "&", "<", "<!--",
            "<![CDATA[",
            "<a b='\\64 ata:,'/>", "<a b='c'/>", "<?a ?>", "<image href='data:image/png;base64,AAAA'/>",
            "<!DOCTYPE a [",
            "<!DOCTYPE a [<!ENTITY b 'http://c'>]>&b;", "<a b=':,'/>",
        ]
    )
    func linear(text: String) {
        func duration(_ byteCount: Int) -> Duration {
            let content = String(repeating: text, count: byteCount / text.utf8.count)
            let file = svg(text.contains("<") ? content : "<style>\(content)</style>")
            let start = threadTime()
            _ = check(file)
            return threadTime() - start
        }
        // Eight times as much takes sixty-four times as long where the time is quadratic.
        let (short, long) = (duration(1 << 16), duration(1 << 19))
        #expect(long < short * 20 + .milliseconds(50), "\(short), \(long)")
    }

    /// The drawings of icon themes, and those with which librsvg is tested (librsvg2-tests).
    private static let folders = ["/usr/share/icons", "/usr/libexec/installed-tests/RSVG/fixtures/reftests"]

    @Test("The drawings of this system are not refused", arguments: folders)
    func drawings(folder: String) throws {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        for name in names where name.hasSuffix(".svg") {
            guard let file = FileManager.default.contents(atPath: "\(folder)/\(name)"),
                !file.starts(with: [0x1F, 0x8B])
            else { continue }
            let error = thrownError { try ContainedImages.check(file, .svg, options: DecodeOptions()) }
            // Two of librsvg's have entities with tags.
            let isRefused = name.contains("coords-viewattr-0") && file.firstRange(of: Data("<!ENTITY".utf8)) != nil
            #expect((error != nil) == isRefused, "\(name): \(error?.reason ?? "")")
        }
    }

    @Test("An image that is hidden behind an entity, an encoding or a compression is refused")
    func hidden() {
        let url = "data:image/png;base64,\(Self.large.base64EncodedString())"
        let entity = "<!DOCTYPE svg [<!ENTITY a \"\(url)\">]>"
        #expect(check(svg("<image href=\"&a;\"/>", head: entity)) != nil)
        #expect(check(svg("<image href=\"&none;\"/>")) != nil)
        let commented = "<!DOCTYPE svg [<!-- <!ENTITY x \"z\"> --><!ENTITY x \"d\">]>"
        #expect(check(svg("<image href=\"&x;ata:image/png;base64,\"/>", head: commented)) != nil)
        let namespace = "<!DOCTYPE svg [<!ENTITY x \"http://www.w3.org/2000/svg\">]>"
        #expect(check(svg("<image href=\"data:image/png;base64,&x;\"/>", head: namespace)) != nil)
        #expect(check(svg("<image href=\"da&none;ta:;base64,\"/>", head: "<!DOCTYPE svg PUBLIC \"a\" \"b\">")) != nil)
        for declaration in [
            "<!ENTITY % x \"y\"> %x;", "<!ENTITY x SYSTEM \"y\">", "<!ATTLIST image href CDATA \"data:,\">",
        ] {
            #expect(check(svg("", head: "<!DOCTYPE svg [\(declaration)]>")) != nil, "\(declaration)")
        }
        for encoding in ["UTF-7", "UTF-16", "ISO-2022-JP", "ISO-8859-1//TRANSLIT", "IBM037"] {
            #expect(check(svg("", head: "<?xml version='1.0' encoding='\(encoding)'?>")) != nil, "\(encoding)")
        }
        let split = "<!DOCTYPE svg [<!ENTITY a \"ata:image/png;base64\">]>"
        #expect(check(svg("<image href=\"d&a;,x\"/>", head: split)) != nil)
        #expect(check(Data([0x1F, 0x8B, 8, 0])) != nil && check(Data([0xFE, 0, 0x3C, 0])) != nil)
    }

    @Test(
        "Common files are not refused",
        arguments: [
            "<image href=\"data:image/png;base64,SMALL\"/>", "<text>Metadata: 5, 6 &#169; &amp; more</text>",
            "<text font-family=\"&quot;Cantarell&quot;\" id=\"&#39;x\">the data: a, b</text>",
            "<a href=\"https://example.org/?a=1&amp;b=2\"/><use href=\"#a\"/>",
            "<style>@font-face { src: url(data:font/woff2;base64,d09GMgABAAA=) }</style>",
            "<a href=\"data:text/html,a\"><title>big data: &lt;one, two></title></a><desc id='a-data:b'>data:image/png,</desc>",
            "<image href=\"data:image/png;base64,\nSMALL\n\"/><path d='M0,0'/><g style=\"font:'\\201C'; stroke-width:1\"/>",
        ]
    )
    func common(content: String) {
        let illustrator = """
            <?xml version="1.0" encoding="iso-8859-1"?><!-- Generator --><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" \
            "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd" [<!ENTITY ns_svg "http://x/"> <!ENTITY ns_i 'http://y/1.0/'>
            <!ELEMENT svg ANY><!ATTLIST svg xmlns:a CDATA #IMPLIED>]>
            """
        for head in ["", illustrator] {
            let content = content.replacing("SMALL", with: Self.small.base64EncodedString())
            let error = check(svg("<g xmlns:x=\"\(head.isEmpty ? "x" : "&ns_svg;")\"/>\(content)", head: head))
            #expect(error == nil)
        }
    }

    @Test("Many images count together")
    func sum() {
        let image = "<image href=\"data:image/png;base64,\(Bomb.png(width: 200, height: 200).base64EncodedString())\"/>"
        #expect(check(svg(image)) == nil)
        #expect(check(svg(image + image))?.code == .imageTooLarge)
    }

    @Test("A loader that works longer than its time ends with an error")
    func slowLoader() throws {
        // Given a filter that takes many seconds
        let filter = svg(
            """
            <filter id="f"><feMorphology radius="900"/></filter><rect width="1400" height="1400" filter="url(#f)"/>
            """
        ).replacing(Data("width=\"10\" height=\"10\"".utf8), with: Data("width=\"1400\" height=\"1400\"".utf8))
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
