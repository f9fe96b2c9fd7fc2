import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("The names of header fields")
struct HeaderNameTests {
    @Test("Names that differ in case name one field, of which the most specific setting is sent")
    func sent() throws {
        // Given a server that keeps the heads as they are
        let heads = EventLog<String>()
        let server = try RawServer { connection in
            heads.add(connection.readHead())
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx")
        }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/a"))
        let downloader = ImageDownloader {
            $0.headers = ["user-agent": "Own/1", "ACCEPT": "a/a", "X-Theme": "light", "Authorization": "A"]
            $0.requestModifier = .headers(["accept": "c/c"])
        }
        // When a request sets fields in another case than the downloader, and the modifiers do as well
        _ = try Download(downloader, url) { $0.headers = ["Accept": "b/b", "authorization": "B"] }.end()
        _ = try Download(downloader, url) {
            $0.requestModifier = RequestModifier(key: "own") { request in
                var request = request
                request.headers["x-theme"] = "dark"
                request.headers["Range"] = "bytes=0-"
                return request
            }
        }.end()
        // Then each field is sent once
        let fields = heads.all.map { head in
            head.split(separator: "\r\n").dropFirst().map { $0.lowercased() }
                .filter { !$0.hasPrefix("host") && !$0.hasPrefix("accept-encoding") && !$0.hasPrefix("priority") }
                .sorted()
        }
        #expect(fields.first == ["accept: c/c", "authorization: b", "user-agent: own/1", "x-theme: light"])
        #expect(
            fields.last
                == ["accept: a/a", "authorization: a", "range: bytes=0-", "user-agent: own/1", "x-theme: dark"]
        )
    }

    @Test("Of fields that differ in case alone the last by its name counts, each time")
    func order() {
        for _ in 0..<20 {
            let fields = Dictionary(uniqueKeysWithValues: ["accept", "ACCEPT", "Accept"].shuffled().map { ($0, $0) })
            #expect(fields.fieldsByLowercasedName == ["accept": "accept"] && fields.field("accept") == "accept")
        }
        #expect(["X-A": "1"].replacingFields(with: ["x-a": "2", "B": "3"]) == ["x-a": "2", "B": "3"])
        #expect(["X-A": "1", "x-a": "2"].withUniqueNames(since: ["X-A": "1"]) == ["x-a": "2"])
        #expect(["X-A": "2", "x-a": "1"].withUniqueNames(since: ["x-a": "1"]) == ["X-A": "2"])
    }
}
