import FoundationEssentials
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
        ] as [(String, String, [UInt8])]
    )
    func wellFormed(text: String, mediaType: String, bytes: [UInt8]) throws {
        let url = try #require(DataURL(text))
        #expect(url.mediaType == mediaType)
        #expect([UInt8](url.data) == bytes)
    }

    @Test(
        "Malformed URLs are rejected",
        arguments: ["data:image/png", "data:;base64,A", "data:,%4", "data:,%zz", "http://h/"]
    )
    func malformed(text: String) {
        #expect(DataURL(text) == nil)
    }
}
