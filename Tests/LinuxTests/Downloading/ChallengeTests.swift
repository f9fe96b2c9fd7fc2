import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Challenges of servers and proxies")
struct ChallengeTests {
    typealias Challenge = ImageDownloader.AuthenticationChallenge

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

    /// A downloader whose handler logs what it is asked, and answers one after the other.
    private func downloader(
        _ asked: EventLog<Challenge>,
        _ answers: [NetworkOptions.Credential?] = [credential],
        _ change: (inout ImageDownloader.Configuration) -> Void = { _ in }
    ) -> ImageDownloader {
        .patient {
            $0.challengeHandler = { challenge in
                asked.add(challenge)
                await Task.yield()
                return answers[min(challenge.attempt, answers.count) - 1]
            }
            change(&$0)
        }
    }

    @Test(
        "A handler is asked for the credential that a server demands, and once for all loads",
        arguments: [true, false]
    )
    func accepted(digest: Bool) async throws {
        let (server, asked) = (try server(digest: digest), EventLog<Challenge>())
        let downloader = self.downloader(asked)
        let loaded = try await Download(downloader, server.url("/a")).ending()
        #expect(loaded.data == Download.body && loaded.head?.status == 200)
        let challenge = try #require(asked.all.first)
        #expect(challenge.scheme == (digest ? .digest : .basic) && challenge.realm == "images")
        #expect(challenge.host == "127.0.0.1" && !challenge.isFromProxy && challenge.attempt == 1)
        #expect(challenge.url == server.url("/a"))
        // What was accepted serves the next load.
        #expect(try await Download(downloader, server.url("/b")).ending().data == Download.body)
        #expect(asked.all.count == 1 && server.requestCount(path: "/b") == (digest ? 2 : 1))
        // A new configuration forgets it.
        downloader.configuration.challengeHandler = { _ in nil }
        #expect(await Download(downloader, server.url("/c")).failing()?.httpStatus == 401)
    }

    @Test("Loads that meet a challenge together ask once, also when the first of them is cancelled")
    func together() async throws {
        let (server, gate, asked) = (try server(), AsyncGate(), EventLog<Challenge>())
        let downloader = ImageDownloader.patient {
            $0.challengeHandler = { challenge in
                asked.add(challenge)
                try await gate.wait()
                return Self.credential
            }
        }
        let downloads = (0..<10).map { Download(downloader, server.url("/\($0)")) }
        #expect(await eventually { server.requests.count == 10 && downloader.transferCounts == (0, 10) })
        #expect(await eventually { gate.waitingCount == 1 } && asked.all.count == 1)
        let first = try #require(asked.all.first?.url)
        for (number, download) in downloads.enumerated() where server.url("/\(number)") == first { download.cancel() }
        #expect(await eventually { asked.all.count == 2 })
        gate.open()
        for (number, download) in downloads.enumerated() where server.url("/\(number)") != first {
            #expect(try await download.ending().data == Download.body)
        }
        #expect(asked.all.count == 2)
    }

    @Test("A handler is asked at most three times, and a load without a credential fails with the status")
    func refused() async throws {
        let server = try server()
        let wrong = NetworkOptions.Credential(user: "u", password: "x")
        for (answers, attempts, isRight) in [
            ([nil], 1, false), ([wrong, nil], 2, false), ([wrong, Self.credential], 2, true), ([wrong], 3, false),
        ] as [([NetworkOptions.Credential?], Int, Bool)] {
            let asked = EventLog<Challenge>()
            let error = await Download(downloader(asked, answers), server.url("/a")).failing()
            #expect(asked.all.map(\.attempt) == Array(1...attempts))
            #expect(error?.httpStatus == (isRight ? nil : 401))
            #expect(isRight || error?.head?.headers["www-authenticate"] == "Basic realm=\"images\"")
        }
        // A credential of the request is tried first.
        let asked = EventLog<Challenge>()
        let own = Download(downloader(asked), server.url("/a")) { $0.credential = wrong }
        #expect(try await own.ending().data == Download.body && asked.all.count == 1)
        let right = Download(downloader(asked), server.url("/a")) { $0.credential = Self.credential }
        #expect(try await right.ending().data == Download.body && asked.all.count == 1)
        struct Trouble: Error {}
        let failing = ImageDownloader.patient { $0.challengeHandler = { _ in throw Trouble() } }
        #expect(await Download(failing, server.url("/a")).failing()?.code == .invalidRequest)
    }

    @Test("A handler may take longer than the idle timeout; without an answer the load fails for good")
    func slow() async throws {
        let (server, gate) = (try server(), AsyncGate())
        let patient = ImageDownloader.patient {
            $0.idleTimeout = .milliseconds(100)
            $0.challengeHandler = { _ in
                try await gate.wait()
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

        let (asked, never) = (EventLog<Challenge>(), AsyncGate())
        let impatient = ImageDownloader.patient {
            $0.challengeTimeout = .milliseconds(100)
            $0.challengeHandler = { challenge in
                asked.add(challenge)
                try await never.wait()
                return Self.credential
            }
        }
        let error = await Download(impatient, server.url("/a")).failing()
        #expect(error?.httpStatus == 401 && error?.isTransient == false)
        // The handler is asked once, or not at all where the machine is too busy to run it in that time.
        #expect(error?.remedy.contains("challengeTimeout") == true && asked.all.count <= 1)
    }

    @Test("Each realm of a server has a credential of its own")
    func realms() async throws {
        let asked = EventLog<Challenge>()
        let server = try LocalImageServer { request in
            let realm = request.path.hasPrefix("/a") ? "a" : "b"
            // "a:p" and "b:p"
            let expected = realm == "a" ? "Basic YTpw" : "Basic Yjpw"
            guard request.headers["authorization"] != expected else {
                return .ok(Download.body, contentType: "image/png")
            }
            return ServerResponse(status: 401, headers: [("WWW-Authenticate", "Basic realm=\"\(realm)\"")])
        }
        let downloader = ImageDownloader.patient {
            $0.challengeHandler = { challenge in
                asked.add(challenge)
                return NetworkOptions.Credential(user: challenge.realm ?? "", password: "p")
            }
        }
        for path in ["/a1", "/b1", "/a2", "/b2", "/b3", "/a3"] {
            #expect(try await Download(downloader, server.url(path)).ending().data == Download.body)
        }
        #expect(asked.all.map(\.realm) == ["a", "b"] && asked.all.map(\.attempt) == [1, 1])
    }

    @Test("A server that names another realm each time does not ask for ever")
    func endlessRealms() async throws {
        let (asked, serial) = (EventLog<Challenge>(), EventLog<Int>())
        let server = try LocalImageServer { _ in
            serial.add(0)
            let challenge = "Basic realm=\"\(serial.all.count)\""
            return ServerResponse(status: 401, headers: [("WWW-Authenticate", challenge)])
        }
        #expect(await Download(downloader(asked), server.url("/a")).failing()?.httpStatus == 401)
        #expect(asked.all.count == 6)
    }

    @Test("A credential that was accepted and no longer is, is asked for again")
    func changed() async throws {
        let passwords = EventLog<String>()
        let server = try LocalImageServer { request in
            let expected = passwords.all.count < 2 ? "Basic dTpw" : "Basic dTpx"
            guard request.headers["authorization"] != expected else {
                return .ok(Download.body, contentType: "image/png")
            }
            return ServerResponse(status: 401, headers: [("WWW-Authenticate", "Basic realm=\"x\"")])
        }
        let downloader = ImageDownloader.patient {
            $0.challengeHandler = { _ in
                passwords.add("")
                return NetworkOptions.Credential(user: "u", password: passwords.all.count < 2 ? "p" : "q")
            }
        }
        #expect(try await Download(downloader, server.url("/a")).ending().data == Download.body)
        passwords.add("The password has changed")
        #expect(try await Download(downloader, server.url("/b")).ending().data == Download.body)
        #expect(passwords.all.count == 3)
    }

    @Test(
        "A challenge that a user name and a password do not meet asks nobody",
        arguments: ["Bearer realm=\"x\"", "Negotiate", "", ",,,", "=", "\"Basic\"", "Basic=realm"]
    )
    func otherSchemes(challenge: String) async throws {
        let (server, asked) = (try server(challenge: challenge), EventLog<Challenge>())
        #expect(await Download(downloader(asked), server.url("/a")).failing()?.httpStatus == 401)
        #expect(asked.all.isEmpty)
    }

    @Test("The modifier is asked before the handler, and the handler of another host for that host")
    func redirected() async throws {
        let (other, asked, calls) = (try server(), EventLog<Challenge>(), EventLog<Bool>())
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

    @Test("A handler is asked for the credential that a proxy demands", arguments: [true, false])
    func proxy(digest: Bool) async throws {
        let (proxy, asked) = (try server(digest: digest, isProxy: true), EventLog<Challenge>())
        for user in ["", "someone:else@"] {
            let downloader = self.downloader(asked) {
                $0.proxy = .fixed(URL(string: "http://\(user)127.0.0.1:\(proxy.port)")!)
            }
            let far = URL(string: "http://far.example/image.png")!
            #expect(try await Download(downloader, far).ending().data == Download.body)
            #expect(try await Download(downloader, far).ending().data == Download.body)
        }
        #expect(asked.all.count == 2)
        let challenge = try #require(asked.all.first)
        #expect(challenge.isFromProxy && challenge.host == "127.0.0.1" && challenge.attempt == 1)
        #expect(challenge.url.host() == "far.example" && challenge.scheme == (digest ? .digest : .basic))
        let none = ImageDownloader.patient { $0.proxy = .fixed(proxy.baseURL) }
        let error = await Download(none, URL(string: "http://far.example/image.png")!).failing()
        #expect(error?.httpStatus == 407 && error?.remedy.contains("proxy") == true)
    }

    @Test("A server that calls itself a proxy gets no credential, without a proxy and behind one that passes bytes on")
    func falseProxy() async throws {
        let server = try server(isProxy: true)
        let asked = EventLog<Challenge>()
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

    @Test("A credential that was accepted is not sent where certificates are not checked, nor taken from there")
    func unverified() async throws {
        let (server, asked) = (try server(), EventLog<Challenge>())
        let downloader = self.downloader(asked)
        #expect(try await Download(downloader, server.url("/a")).ending().data == Download.body)
        for name in ["/b", "/c"] {
            let load = Download(downloader, server.url(name)) { $0.allowsInvalidCertificates = true }
            #expect(try await load.ending().data == Download.body)
            let first = server.requests.first { $0.path == name }
            #expect(first?.headers["authorization"] == nil)
        }
        #expect(asked.all.count == 3)
        let other = self.downloader(asked)
        let load = Download(other, server.url("/d")) { $0.allowsInvalidCertificates = true }
        #expect(try await load.ending().data == Download.body)
        #expect(try await Download(other, server.url("/e")).ending().data == Download.body)
        #expect(asked.all.count == 5)
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
        let asked = EventLog<Challenge>()
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
