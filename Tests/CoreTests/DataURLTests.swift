import FoundationEssentials
import TestSupport
import Testing

@testable import WebImageCore

@Suite("data: URLs")
struct DataURLTests {
    @Test(
        "Content and media type are parsed as RFC 2397 defines them",
        arguments: [
            ("data:image/png;base64,AQID", "image/png", [1, 2, 3]),
            ("DATA:image/gif;charset=x;base64,AQ%49D", "image/gif", [1, 2, 3]),
            ("data:,A%20brief%20note", "text/plain", Array("A brief note".utf8)),
            ("data:image/svg+xml,%3Csvg/%3E", "image/svg+xml", Array("<svg/>".utf8)),
            ("data:;base64,", "text/plain", []),
            ("data:image/png;base64,AQID#name", "image/png", [1, 2, 3]),
            ("data:image/png; base64,AQIDBA", "image/png", [1, 2, 3, 4]),
            ("data:image/png;base64,AQI\n D%42A==\n", "image/png", [1, 2, 3, 4]),
            ("data:,100%", "text/plain", Array("100%".utf8)), ("data:,%4%zz%20", "text/plain", Array("%4%zz ".utf8)),
        ] as [(String, String, [UInt8])]
    )
    func wellFormed(text: String, mediaType: String, bytes: [UInt8]) throws {
        let url = try #require(DataURL(text))
        #expect(url.mediaType == mediaType)
        #expect([UInt8](url.data) == bytes)
    }

    @Test("A URL of many megabytes is read at once")
    func large() throws {
        let bytes = Data((0..<8_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let text = "data:image/png;base64," + bytes.base64EncodedString()
        let start = threadTime()
        let parsed = try #require(DataURL(text))
        // With a call for each byte, it took two seconds.
        #expect(threadTime() - start < .seconds(1))
        #expect(parsed.data == bytes)
        let url = try #require(URL(string: text))
        #expect(url.userInfo == nil && url.textForKeys == text)
        #expect(ImageRequest.scale(inName: text) == 1)
    }

    @Test(
        "Malformed URLs are rejected",
        arguments: [
            "data:image/png", "data:;base64,A", "data:;base64,A=ID", "data:;base64,%zz", "http://h/",
        ]
    )
    func malformed(text: String) {
        #expect(DataURL(text) == nil)
    }
}
