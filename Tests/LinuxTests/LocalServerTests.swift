import Foundation
import Glibc
import TestSupport
import Testing
import WebImageLinux
import WebImageTesting

/// The server of the tests, which apps use in theirs and the gallery for its images.
@Suite("The local server")
struct LocalServerTests {
    /// Connects to a port, sends a text and returns what comes back.
    private func exchange(_ text: String, port: UInt16) -> String {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { return "" }
        _ = text.withCString { send(descriptor, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
        var answer = ""
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return answer }
            answer += String(decoding: buffer[..<count], as: UTF8.self)
        }
    }

    @Test("No body follows a 304, also where bodies are sent in chunks", arguments: [true, false])
    func notModified(isChunked: Bool) throws {
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(Data(count: 10), contentType: "image/png")
            response.headers.append(("ETag", "\"1\""))
            response.faults.isChunked = isChunked
            return response.conditional(on: request)
        }
        let request = "GET /a HTTP/1.1\r\nIf-None-Match: \"1\"\r\n"
        let answer = exchange("\(request)\r\n\(request)Connection: close\r\n\r\n", port: server.port)
        let heads = answer.components(separatedBy: "\r\n\r\n")
        #expect(heads.count == 3 && heads.last == "", "\(answer)")
        #expect(heads.prefix(2).allSatisfy { $0.hasPrefix("HTTP/1.1 304") && !$0.contains("Transfer-Encoding") })
    }

    @Test("Every query is parsed, whatever it lacks")
    func queries() throws {
        let server = try LocalImageServer { _ in .status(200) }
        for query in ["=", "=&=", "&", "a", "a=", "=b", "a==b", "%", "%zz=%", "a=1&=2&b=3", "?", "\u{FF}"] {
            let answer = exchange("GET /x?\(query) HTTP/1.1\r\nConnection: close\r\n\r\n", port: server.port)
            #expect(answer.hasPrefix("HTTP/1.1 200"), "\(query): \(answer)")
        }
        #expect(server.requests.last { $0.query["b"] != nil }?.query == ["a": "1", "b": "3"])
        #expect(exchange("GET ?= HTTP/1.1\r\nConnection: close\r\n\r\n", port: server.port).hasPrefix("HTTP/1.1"))
        #expect(exchange("\r\n\r\n", port: server.port).hasPrefix("HTTP/1.1 400"))
    }

    @Test(
        "A range is answered with its bytes, and what is none with the whole",
        arguments: [
            ("bytes=2-4", 206, "cde"), ("bytes=7-", 206, "hij"), ("bytes=-3", 206, "hij"),
            ("bytes=-99", 206, "abcdefghij"),
            ("bytes=8-99", 206, "ij"), ("bytes=5-2", 200, "abcdefghij"), ("bytes=-", 200, "abcdefghij"),
            ("bytes=a-b", 200, "abcdefghij"), ("bytes=1-2,4-5", 200, "abcdefghij"), ("bytes=10-", 416, ""),
            ("bytes=-0", 416, ""), ("bytes=99999999999999999999-", 200, "abcdefghij"),
        ]
    )
    func ranges(range: String, status: Int, body: String) throws {
        let server = try LocalImageServer { .ok(Data("abcdefghij".utf8), contentType: "image/png").conditional(on: $0) }
        let answer = exchange(
            "GET /x HTTP/1.1\r\nRange: \(range)\r\nConnection: close\r\n\r\n",
            port: server.port
        )
        #expect(answer.hasPrefix("HTTP/1.1 \(status)") && answer.hasSuffix("\r\n\r\n\(body)"), "\(answer)")
    }

    @Test("A server may be stopped and released at any moment of a connection, 200 times in a row")
    func stopping() throws {
        for _ in 0..<200 {
            var server: LocalImageServer? = try LocalImageServer { _ in .status(200) }
            let port = try #require(server?.port)
            let ended = EventLog<Int>()
            for number in 0..<4 {
                Thread.detachNewThread {
                    _ = exchange("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", port: port)
                    ended.add(number)
                }
            }
            sched_yield()
            server?.stop()
            server = nil
            #expect(ended.wait { $0.count == 4 })
        }
    }

    @Test("The log of a server that answers for very long stays bounded")
    func log() throws {
        let server = try LocalImageServer { _ in .status(200) }
        _ = exchange(
            String(repeating: "GET / HTTP/1.1\r\n\r\n", count: 3) + "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
            port: server.port
        )
        #expect(server.requests.count == 4)
    }

    @Test("A pace is asked for the pause after each piece, and ends the connection when it has none")
    func pace() throws {
        let pieces = EventLog<Int>()
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(Data(repeating: 65, count: 2500), contentType: "text/plain")
            let isCut = request.path == "/cut"
            response.faults.pace = (
                bytes: 1000,
                pause: { count in
                    pieces.add(count)
                    return isCut ? nil : .zero
                }
            )
            return response
        }
        let whole = exchange("GET /whole HTTP/1.1\r\nConnection: close\r\n\r\n", port: server.port)
        #expect(whole.count { $0 == "A" } == 2500)
        #expect(pieces.all == [1000, 1000, 500])
        let cut = exchange("GET /cut HTTP/1.1\r\n\r\n", port: server.port)
        #expect(cut.count { $0 == "A" } == 1000)
    }
}
