import FoundationEssentials
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
        ]
    )
    func svg(content: String) {
        let content = content.replacing("BASE64", with: Self.large.base64EncodedString())
            .replacing("SMALL", with: Self.small.base64EncodedString())
        let error = check(svg(content))
        #expect(error?.code == .imageTooLarge || error?.code == .badImageData)
    }

    @Test("An image that is hidden behind an entity, an encoding or a compression is refused")
    func hidden() {
        let url = "data:image/png;base64,\(Self.large.base64EncodedString())"
        let entity = "<!DOCTYPE svg [<!ENTITY a \"\(url)\">]>"
        #expect(check(svg("<image href=\"&a;\"/>", head: entity)) != nil)
        #expect(check(svg("<image href=\"&none;\"/>")) != nil)
        let split = "<!DOCTYPE svg [<!ENTITY a \"ata:image/png;base64\">]>"
        #expect(check(svg("<image href=\"d&a;,x\"/>", head: split)) != nil)
        #expect(check(svg("", head: "<?xml version='1.0' encoding='UTF-7'?>")) != nil)
        #expect(check(Data([0x1F, 0x8B, 8, 0])) != nil && check(Data([0xFE, 0, 0x3C, 0])) != nil)
    }

    @Test(
        "Common files are not refused",
        arguments: [
            "<image href=\"data:image/png;base64,SMALL\"/>", "<text>Metadata: 5, 6 &#169; &amp; more</text>",
            "<text font-family=\"&quot;Cantarell&quot;\" id=\"&#39;x\">the data: a, b</text>",
            "<a href=\"https://example.org/?a=1&amp;b=2\"/><use href=\"#a\"/>",
            "<style>@font-face { src: url(data:font/woff2;base64,d09GMgABAAA=) }</style>",
        ]
    )
    func common(content: String) {
        let illustrator = "<?xml version=\"1.0\" encoding=\"utf-8\"?><!DOCTYPE svg [<!ENTITY ns_svg \"http://x/\">]>"
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

    @Test("A loader that works longer than its time ends with an error, and two left behind are the most")
    func slowLoader() throws {
        // Given a filter that takes a second for each of its thousand pixels of radius
        let filter = svg(
            """
            <filter id="f"><feMorphology radius="900"/></filter><rect width="1400" height="1400" filter="url(#f)"/>
            """
        ).replacing(Data("width=\"10\" height=\"10\"".utf8), with: Data("width=\"1400\" height=\"1400\"".utf8))
        let coder = PixbufCoder(timeLimit: .milliseconds(100))
        try #require(coder.canDecode(.svg))
        // When it takes longer than it may
        let error = thrownError { try coder.decode(filter, options: DecodeOptions()) }
        // Then the thread is free, and the error says why
        #expect(error?.code == .timedOut && error?.reason.contains("SVG") == true)
    }
}
