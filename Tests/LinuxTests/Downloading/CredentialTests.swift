import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Credentials that servers and proxies demand")
struct CredentialTests {
    typealias Request = ImageDownloader.CredentialRequest

    private static let credential = NetworkOptions.Credential(user: "u", password: "p")

    /// A server, or a proxy, that wants u and p.
    private func server(
        digest: Bool = false,
        isProxy: Bool = false,
        challenge: String? = nil
    ) throws -> LocalImageServer {
        try LocalImageServer { request in
            let field = request.headers[isProxy ? "proxy-authorization" : "authorization"] ?? ""
            let isRight =
                digest
                ? DigestAnswer(field)?.isRight(user: "u", password: "p") == true : field == "Basic dTpw"
            guard !isRight else { return .ok(Download.body, contentType: "image/png") }
            let offer =
                digest
                ? "Digest realm=\"images\", nonce=\"abc\", qop=\"auth\", algorithm=MD5" : "Basic realm=\"images\""
            let name = isProxy ? "Proxy-Authenticate" : "WWW-Authenticate"
            let headers = [(name, challenge ?? offer)]
            return ServerResponse(status: isProxy ? 407 : 401, headers: headers, body: Data(count: 500))
        }
    }

    /// A downloader whose closure logs what it is asked, and answers one after the other.
    private func downloader(
        _ asked: EventLog<Request>,
        _ answers: [NetworkOptions.Credential?] = [credential],
        _ change: (inout ImageDownloader.Configuration) -> Void = { _ in }
    ) -> ImageDownloader {
        .patient {
            $0.credential = { request in
                asked.add(request)
                await Task.yield()
                return answers[min(request.attempt, answers.count) - 1]
            }
            change(&$0)
        }
    }

    @Test("The app is asked for the credential that a server demands", arguments: [true, false])
    func accepted(digest: Bool) async throws {
        let (server, asked) = (try server(digest: digest), EventLog<Request>())
        let downloader = self.downloader(asked)
        let loaded = try await Download(downloader, server.url("/a")).ending()
        #expect(loaded.data == Download.body && loaded.head?.status == 200)
        let request = try #require(asked.all.first)
        #expect(request.host == "127.0.0.1" && !request.isFromProxy && request.attempt == 1)
        #expect(request.url == server.url("/a") && request.realm == "images")
        // Digest needs a challenge for each connection without one.
        #expect(server.requestCount(path: "/a") == (digest ? 3 : 2))
        #expect(try await Download(downloader, server.url("/b")).ending().data == Download.body)
        #expect(asked.all.count == 2)
    }

    @Test("A load that waits for a credential has no place among the transfers, and its end cancels the question")
    func waiting() async throws {
        let (server, gate, ends) = (try server(), AsyncGate(), EventLog<Bool>())
        let downloader = ImageDownloader.patient {
            $0.credential = { _ in
                try? await gate.wait()
                ends.add(Task.isCancelled)
                return Self.credential
            }
        }
        let downloads = (0..<10).map { Download(downloader, server.url("/\($0)")) }
        #expect(await eventually { server.requests.count == 10 && downloader.transferCounts == (0, 10) })
        #expect(await eventually { gate.waitingCount == 10 })
        downloads[0].cancel()
        #expect(await eventually { ends.all == [true] })
        gate.open()
        for download in downloads.dropFirst() { #expect(try await download.ending().data == Download.body) }
    }

    @Test("The app is asked at most three times, and a load without a credential fails with the status")
    func refused() async throws {
        let server = try server()
        let wrong = NetworkOptions.Credential(user: "u", password: "x")
        for (answers, attempts, isRight) in [
            ([nil], 1, false), ([wrong, nil], 2, false), ([wrong, Self.credential], 2, true), ([wrong], 3, false),
        ] as [([NetworkOptions.Credential?], Int, Bool)] {
            let asked = EventLog<Request>()
            let error = await Download(downloader(asked, answers), server.url("/a")).failing()
            #expect(asked.all.map(\.attempt) == Array(1...attempts))
            #expect(error?.httpStatus == (isRight ? nil : 401))
            #expect(isRight || error?.head?.headers["www-authenticate"] == "Basic realm=\"images\"")
        }
        // A credential of the request is tried first.
        let asked = EventLog<Request>()
        let own = Download(downloader(asked), server.url("/a")) { $0.credential = wrong }
        #expect(try await own.ending().data == Download.body && asked.all.count == 1)
        let right = Download(downloader(asked), server.url("/a")) { $0.credential = Self.credential }
        #expect(try await right.ending().data == Download.body && asked.all.count == 1)
    }

    @Test("The app may take longer than the idle timeout; at the end of the load the status is its error")
    func slow() async throws {
        let (server, gate) = (try server(), AsyncGate())
        let patient = ImageDownloader.patient {
            $0.idleTimeout = .seconds(2)
            $0.credential = { _ in
                try? await gate.wait()
                return Self.credential
            }
        }
        let download = Download(patient, server.url("/a"))
        #expect(await eventually { gate.waitingCount == 1 })
        // When another transfer is idle for too long meanwhile
        let stalling = try LocalImageServer { _ in
            var response = ServerResponse.ok(Download.body, contentType: "image/png")
            response.faults.stallAfterBytes = 10
            return response
        }
        #expect(await Download(patient, stalling.url("/b")).failing()?.code == .timedOut)
        // Then the user still has time.
        gate.open()
        #expect(try await download.ending().data == Download.body)

        let never = AsyncGate()
        let impatient = ImageDownloader.patient {
            $0.totalTimeout = .seconds(4)
            $0.credential = { _ in
                try? await never.wait()
                return nil
            }
        }
        let error = await Download(impatient, server.url("/a")).failing()
        #expect(error?.httpStatus == 401 && error?.isTransient == false)
    }

    @Test(
        "The realm is the one of the challenge that is answered",
        arguments: [
            ("Basic realm=\"a, b\"", "a, b"), ("BASIC Realm=plain, charset=utf-8", "plain"), ("Basic", nil),
            ("Bearer realm=\"x\", Basic realm=\"y\"", "y"), ("Basic realm=\"", ""),
        ] as [(String, String?)]
    )
    func realm(challenge: String, realm: String?) async throws {
        let (server, asked) = (try server(challenge: challenge), EventLog<Request>())
        #expect(try await Download(downloader(asked), server.url("/a")).ending().data == Download.body)
        #expect(asked.all.map(\.realm) == [realm])
    }

    @Test("A server that names another realm each time does not ask without end")
    func endlessRealms() async throws {
        let (asked, serial) = (EventLog<Request>(), EventLog<Int>())
        let server = try LocalImageServer { _ in
            serial.add(0)
            let challenge = "Basic realm=\"\(serial.all.count)\""
            return ServerResponse(status: 401, headers: [("WWW-Authenticate", challenge)])
        }
        #expect(await Download(downloader(asked), server.url("/a")).failing()?.httpStatus == 401)
        #expect(asked.all.count == 3)
    }

    @Test(
        "A challenge that a user name and a password do not meet is not passed on",
        arguments: ["Bearer realm=\"x\"", "Negotiate", "", ",,,", "=", "\"Basic\""]
    )
    func otherSchemes(challenge: String) async throws {
        let (server, asked) = (try server(challenge: challenge), EventLog<Request>())
        #expect(await Download(downloader(asked), server.url("/a")).failing()?.httpStatus == 401)
        #expect(asked.all.isEmpty)
    }

    @Test("The modifier is asked before the closure, and the closure for each host")
    func redirected() async throws {
        let (other, asked, calls) = (try server(), EventLog<Request>(), EventLog<Bool>())
        let server = try LocalImageServer { request in
            guard request.headers["authorization"] == "Basic dTpw" else {
                return ServerResponse(status: 401, headers: [("WWW-Authenticate", "Bearer, Basic realm=first")])
            }
            return .redirect(to: "http://localhost:\(other.port)/b")
        }
        let modifier = RequestModifier(key: "log") { request in
            calls.add(request.refusal != nil)
            return request
        }
        let download = Download(downloader(asked), server.url("/a")) { $0.requestModifier = modifier }
        #expect(try await download.ending().data == Download.body)
        #expect(calls.all == [false, true])
        #expect(asked.all.map(\.host) == ["127.0.0.1", "localhost"] && asked.all.map(\.realm) == ["first", "images"])
        #expect(other.requests.first?.headers["authorization"] == nil)
    }

    @Test("The app is asked for the credential that a proxy demands", arguments: [true, false])
    func proxy(digest: Bool) async throws {
        let (proxy, asked) = (try server(digest: digest, isProxy: true), EventLog<Request>())
        for user in ["", "someone:else@"] {
            let downloader = self.downloader(asked) {
                $0.proxy = .fixed(URL(string: "http://\(user)127.0.0.1:\(proxy.port)")!)
            }
            let far = URL(string: "http://far.example/image.png")!
            #expect(try await Download(downloader, far).ending().data == Download.body)
            #expect(try await Download(downloader, far).ending().data == Download.body)
        }
        #expect(asked.all.count == 4)
        let request = try #require(asked.all.first)
        #expect(request.isFromProxy && request.host == "127.0.0.1" && request.attempt == 1)
        #expect(request.url.host() == "far.example" && request.realm == "images")
        let none = ImageDownloader.patient { $0.proxy = .fixed(proxy.baseURL) }
        let error = await Download(none, URL(string: "http://far.example/image.png")!).failing()
        #expect(error?.httpStatus == 407 && error?.remedy.contains("proxy") == true)
    }

    @Test("A server that calls itself a proxy gets no credential, without a proxy and behind one that passes bytes on")
    func falseProxy() async throws {
        let server = try server(isProxy: true)
        let asked = EventLog<Request>()
        let direct = downloader(asked) { $0.proxy = .none }
        #expect(await Download(direct, server.url("/a")).failing()?.httpStatus == 407)
        // Given a proxy that has connected to the server, which answers with 407 itself
        let tunnel = try RawServer { connection in
            _ = connection.read(100)
            connection.write("\u{5}\0")
            _ = connection.read(100)
            connection.write("\u{5}\0\0\u{1}\0\0\0\0\0\0")
            connection.relay(to: server.port)
        }
        let behind = downloader(asked) { $0.proxy = .fixed(URL(string: "socks5://127.0.0.1:\(tunnel.port)")!) }
        #expect(await Download(behind, server.url("/a")).failing()?.httpStatus == 407)
        #expect(asked.all.isEmpty)
        #expect(server.requests.allSatisfy { $0.headers["proxy-authorization"] == nil } && server.requests.count == 2)
    }

    @Test("A proxy that demands a credential before it connects to a server with TLS gets it")
    func tunnel() async throws {
        let nginx = try Nginx(files: ["a.bin": Download.body])
        let port = UInt16(nginx.url("a.bin", .good).port ?? 0)
        let proxy = try RawServer { connection in
            while case let head = connection.readHead(), !head.isEmpty {
                guard head.contains("Proxy-Authorization: Basic dTpw") else {
                    let challenge = "Proxy-Authenticate: Basic realm=\"tunnel\""
                    connection.write("HTTP/1.1 407 No\r\n\(challenge)\r\nContent-Length: 0\r\n\r\n")
                    continue
                }
                connection.write("HTTP/1.1 200 Connected\r\n\r\n")
                return connection.relay(to: port)
            }
        }
        let asked = EventLog<Request>()
        func make(_ answers: [NetworkOptions.Credential?]) -> ImageDownloader {
            downloader(asked, answers) {
                $0.certificateAuthorityFile = nginx.authorityFile
                $0.proxy = .fixed(URL(string: "http://127.0.0.1:\(proxy.port)")!)
            }
        }
        let error = await Download(make([nil]), nginx.url("a.bin", .good)).failing()
        #expect(error?.code == .badStatus && error?.httpStatus == 407)
        #expect(try await Download(make([Self.credential]), nginx.url("a.bin", .good)).ending().data == Download.body)
        #expect(asked.all.map(\.isFromProxy) == [true, true] && asked.all.last?.realm == "tunnel")
        #expect(asked.all.last?.host == "127.0.0.1")
    }
}

extension RawServer.Connection {
    /// Passes bytes on in both directions, until one side closes.
    func relay(to port: UInt16) {
        guard let server = ServerSocket.connect(port: port) else { return }
        defer { server.close() }
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            var ends = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: server.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&ends, 2, 60_000) > 0 else { return }
            for index in 0..<2 where ends[index].revents != 0 {
                let count = recv(ends[index].fd, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                var sent = 0
                while sent < count {
                    let rest = Array(buffer[sent..<count])
                    let result = send(ends[1 - index].fd, rest, rest.count, Int32(MSG_NOSIGNAL))
                    guard result > 0 else { return }
                    sent += result
                }
            }
        }
    }
}
