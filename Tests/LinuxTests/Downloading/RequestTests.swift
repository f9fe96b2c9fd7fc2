import FoundationEssentials
import Glibc
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageLinux

@Suite("Requests of the downloader")
struct RequestTests {
    private func server() throws -> LocalImageServer {
        try LocalImageServer { _ in .ok(Download.body, contentType: "image/png") }
    }

    @Test("The header fields of the downloader and of the request pass the modifier")
    func headers() throws {
        let server = try server()
        let downloader = ImageDownloader {
            $0.userAgent = "Test/1"
            $0.headers = ["Accept": "image/png", "X-One": "1"]
            $0.requestModifier = .headers(["X-All": "all"])
        }
        _ = try Download(downloader, server.url("/a")) { $0.headers["X-One"] = "2" }.end()
        let own = RequestModifier.headers(["X-Own": "own"]).then(.headers(["X-Own": "last"]))
        _ = try Download(downloader, server.url("/b")) { $0.requestModifier = own }.end()
        let (first, second) = (server.requests[0].headers, server.requests[1].headers)
        #expect(first["accept"] == "image/png" && first["user-agent"] == "Test/1" && first["x-one"] == "2")
        #expect(first["x-all"] == "all")
        // The modifier of a request replaces that of the downloader.
        #expect(second["x-own"] == "last" && second["x-all"] == nil)
    }

    @Test("Without fields of the app, a request asks for images")
    func defaultFields() throws {
        let server = try server()
        _ = try Download(ImageDownloader(), server.url("/a")).end()
        #expect(server.requests[0].headers["accept"] == "image/*,*/*;q=0.8")
    }

    @Test("Each image of a prefetch is counted when all transfers are cancelled")
    func prefetchedAndCancelled() throws {
        // Given ten images, of which the server sends none
        let gate = ServerGate()
        let server = try LocalImageServer { _ in
            var response = ServerResponse.ok(Download.body, contentType: "image/png")
            response.faults.gate = gate
            return response
        }
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.retryPolicy = .never
        configuration.downloader = ImageDownloader()
        let manager = ImageManager(configuration: configuration)
        let prefetcher = ImagePrefetcher(manager: manager, maximumConcurrentCount: 6)
        prefetcher.prefetch((0..<10).map { server.url("/\($0)") })
        // When all transfers are cancelled, again and again
        #expect(
            EventLog<Int>.poll {
                configuration.downloader.cancelAllTransfers()
                return prefetcher.totals.finishedCount == 10
            }
        )
        #expect(prefetcher.totals.loadedCount == 0, "\(prefetcher.totals)")
        gate.open()
    }

    @Test("A modifier can replace a request or refuse it")
    func modifier() throws {
        let server = try server()
        let elsewhere = RequestModifier(key: "elsewhere") { request in
            RequestModifier.Request(
                url: server.url("/signed"),
                method: "POST",
                headers: request.headers,
                body: Data("query".utf8)
            )
        }
        _ = try Download(ImageDownloader(), server.url("/a")) { $0.requestModifier = elsewhere }.end()
        #expect(server.requests[0].method == "POST" && server.requests[0].path == "/signed")
        #expect(server.requests[0].headers["content-length"] == "5")
        let refusing = RequestModifier(key: "refusing") { _ in nil }
        let error = Download(ImageDownloader(), server.url("/a")) { $0.requestModifier = refusing }.failure()
        #expect(error?.code == .invalidRequest)
        #expect(server.requests.count == 1)
    }

    @Test("A header field with a line break is not sent")
    func injection() throws {
        let server = try server()
        _ = try Download(ImageDownloader(), server.url("/a")) { $0.headers["X-Bad"] = "1\r\nX-Injected: 1" }.end()
        #expect(server.requests[0].headers["x-bad"] == nil && server.requests[0].headers["x-injected"] == nil)
    }

    @Test(
        "A method that would be more than a method is refused",
        arguments: ["GET / HTTP/1.1\r\nX: y", "", "A B", "GÉT"]
    )
    func method(name: String) throws {
        let server = try server()
        let modifier = RequestModifier(key: "method") { request in
            var request = request
            request.method = name
            return request
        }
        let error = Download(ImageDownloader(), server.url("/a")) { $0.requestModifier = modifier }.failure()
        #expect(error?.code == .invalidRequest && error?.reason.contains("method") == true)
        #expect(server.requests.isEmpty)
    }

    @Test("Cookies are stored and sent only for requests that handle cookies")
    func cookies() throws {
        let server = try LocalImageServer { _ in
            ServerResponse(status: 200, headers: [("Set-Cookie", "session=1; Path=/")], body: Data(count: 1))
        }
        let downloader = ImageDownloader()
        for isAsked in [false, true, true, false] {
            _ = try Download(downloader, server.url("/a")) { $0.handlesCookies = isAsked }.end()
        }
        #expect(server.requests.map { $0.headers["cookie"] } == [nil, nil, "session=1", nil])
    }

    @Test("Basic authentication uses the credential")
    func basic() throws {
        let server = try LocalImageServer { request in
            guard request.headers["authorization"] == "Basic dTpw" else {
                return ServerResponse(status: 401, headers: [("WWW-Authenticate", "Basic realm=\"x\"")])
            }
            return .ok(Download.body, contentType: "image/png")
        }
        let download = Download(ImageDownloader(), server.url("/a")) {
            $0.credential = NetworkOptions.Credential(user: "u", password: "p")
        }
        #expect(try download.end().data == Download.body)
        let error = Download(ImageDownloader(), server.url("/a")).failure()
        #expect(error?.httpStatus == 401 && error?.remedy.contains("credentials") == true)
        let wrong = Download(ImageDownloader(), server.url("/a")) {
            $0.credential = NetworkOptions.Credential(user: "u", password: "x")
        }
        #expect(wrong.failure()?.httpStatus == 401)
    }

    @Test("Digest authentication never sends the password")
    func digest() throws {
        let server = try LocalImageServer { request in
            guard let field = request.headers["authorization"],
                DigestAnswer(field)?.isRight(user: "u", password: "p") == true
            else {
                let challenge = "Digest realm=\"images\", nonce=\"abc\", qop=\"auth\", algorithm=MD5"
                return ServerResponse(status: 401, headers: [("WWW-Authenticate", challenge)])
            }
            return .ok(Download.body, contentType: "image/png")
        }
        let download = Download(ImageDownloader(), server.url("/a")) {
            $0.credential = NetworkOptions.Credential(user: "u", password: "p")
        }
        #expect(try download.end().data == Download.body)
        #expect(server.requests.count == 2)
        let wrong = Download(ImageDownloader(), server.url("/a")) {
            $0.credential = NetworkOptions.Credential(user: "u", password: "x")
        }
        #expect(wrong.failure()?.httpStatus == 401)
    }

    @Test(
        "Redirects are followed up to a limit, and to http and https only",
        arguments: [
            ("/start", nil), ("/relative", nil), ("/large", nil), ("/loop", ImageError.Code.badRedirect),
            ("/file", .badRedirect), ("/folder/empty", .badRedirect), ("/folder/fragment", .badRedirect),
            ("/ftp", .badRedirect), ("/nowhere", .badRedirect), ("/without", .badStatus),
        ]
    )
    func redirects(path: String, code: ImageError.Code?) throws {
        let server = try LocalImageServer { request in
            switch request.path {
            case "/start": .redirect(to: "/relative")
            case "/relative": .redirect(to: "end?x=1")
            case "/large": .redirect(to: "/end", body: Data(count: 1_000_000))
            case "/loop": .redirect(to: "/loop")
            case "/file": .redirect(to: "file:///etc/passwd")
            case "/ftp": .redirect(to: "ftp://127.0.0.1/a.png")
            case "/nowhere": .redirect(to: "http://")
            case "/without": .status(302)
            // Both are the URL itself, not its folder.
            case "/folder/empty": .redirect(to: "")
            case "/folder/fragment": .redirect(to: "#top")
            default: .ok(Download.body, contentType: "image/png")
            }
        }
        let download = Download(ImageDownloader(), server.url(path))
        if let code {
            #expect(download.failure()?.code == code)
        } else {
            let loaded = try download.end()
            #expect(loaded.data == Download.body)
            #expect(loaded.metrics?.redirectCount == (path == "/start" ? 2 : 1))
        }
        #expect(server.requests.count <= 11)
    }

    @Test("The user of a URL stays for redirects to the same origin, however they are written, and goes nowhere else")
    func userOfURL() throws {
        let other = try LocalImageServer { _ in .ok(Download.body, contentType: "image/png") }
        let places = Mutex<[String: String]>([:])
        let server = try LocalImageServer { request in
            guard request.headers["authorization"] == "Basic dTpw" else {
                return ServerResponse(status: 401, headers: [("WWW-Authenticate", "Basic realm=\"x\"")])
            }
            let place = places.withLock { $0[request.path] }
            return place.map { .redirect(to: $0) } ?? .ok(Download.body, contentType: "image/png")
        }
        places.withLock {
            $0 = ["/a": server.url("/b").absoluteString, "/b": "/c", "/d": other.url("/e").absoluteString]
        }
        for path in ["/a", "/d"] {
            let url = server.url(path).absoluteString.replacing("http://", with: "http://u:p@")
            #expect(try Download(ImageDownloader(), #require(URL(string: url))).end().data == Download.body)
        }
        #expect(server.requests.map(\.path) == ["/a", "/b", "/c", "/d"])
        #expect(other.requests.map { $0.headers["authorization"] } == [nil])
    }

    @Test("A transfer that waits is sent as the downloader is configured when its turn comes")
    func configurationOfTurn() throws {
        let server = try server()
        let downloader = ImageDownloader()
        downloader.isSuspended = true
        let download = Download(downloader, server.url("/a"))
        #expect(EventLog<Int>.poll { downloader.transferCounts.waiting == 1 })
        downloader.configuration.headers["X-Token"] = "new"
        downloader.isSuspended = false
        _ = try download.end()
        #expect(server.requests.map { $0.headers["x-token"] } == ["new"])
    }

    @Test("Secrets for one host are not sent to another that it redirects to")
    func secrets() throws {
        let other = try LocalImageServer { request in
            // The server asks for everything.
            guard request.headers["authorization"] == nil else { return .ok(Download.body, contentType: "image/png") }
            return ServerResponse(status: 401, headers: [("WWW-Authenticate", "Basic realm=\"x\"")])
        }
        let server = try LocalImageServer { request in
            request.path == "/a" ? .redirect(to: other.url("/b").absoluteString) : .redirect(to: "/a")
        }
        let downloader = ImageDownloader { $0.headers["Authorization"] = "Bearer all" }
        let download = Download(downloader, server.url("/start")) {
            $0.credential = NetworkOptions.Credential(user: "u", password: "p")
            $0.headers = ["X-Api-Key": "secret", "Cookie": "session=1"]
            $0.requestModifier = .headers(["X-Signature": "secret"])
        }
        let error = download.failure()
        #expect(error?.httpStatus == 401 && error?.url == server.url("/start"))
        #expect(error?.reason.contains("target of a redirect, \(other.url("/b"))") == true)
        // The same host gets all of it, even after a redirect.
        #expect(server.requests.map { $0.headers["x-api-key"] } == ["secret", "secret"])
        #expect(server.requests.map { $0.headers["x-signature"] } == ["secret", "secret"])
        for request in other.requests {
            for name in ["x-api-key", "cookie", "x-signature", "authorization"] {
                #expect(request.headers[name] == nil, "\(name)")
            }
        }
    }

    @Test("The proxy is the desktop's for each URL, a fixed one, or none")
    func proxies() throws {
        let proxy = try LocalImageServer { _ in .ok(Data("proxied".utf8), contentType: "image/png") }
        let server = try server()
        let asked = EventLog<String>()
        let resolver = ProxyResolver { url in
            asked.add(url.host() ?? "")
            return url.host() == "far.example" ? ["weird://x", "http://127.0.0.1:\(proxy.port)"] : ["direct://"]
        }
        let desktop = ImageDownloader(configuration: .init(), proxies: resolver)
        let far = URL(string: "http://far.example/image.png")!
        #expect(try Download(desktop, far).end().data == Data("proxied".utf8))
        #expect(try Download(desktop, server.url("/a")).end().data == Download.body)
        // The desktop is asked once for each host.
        #expect(try Download(desktop, URL(string: "http://far.example/other.png")!).end().data == Data("proxied".utf8))
        #expect(asked.all == ["far.example", "127.0.0.1"])
        #expect(proxy.requests.map(\.target) == ["http://far.example/image.png", "http://far.example/other.png"])
        let fixed = ImageDownloader { $0.proxy = .fixed(proxy.baseURL) }
        #expect(try Download(fixed, far).end().data == Data("proxied".utf8))
        // A desktop without proxies is not asked.
        let absent = ProxyResolver { url in
            asked.add("absent")
            return [proxy.baseURL.absoluteString]
        }
        absent.endLookups()
        let alone = ImageDownloader(configuration: .init(), proxies: absent)
        #expect(try Download(alone, server.url("/a")).end().data == Download.body)
        #expect(!asked.all.contains("absent"))
        let none = ImageDownloader { $0.proxy = .none }
        #expect(try Download(none, server.url("/a")).end().data == Download.body)
    }

    @Test("The desktop gets no more of a URL than the host, and has five seconds to answer")
    func hangingProxyLookup() throws {
        let server = try server()
        let asked = EventLog<String>()
        let release = EventLog<Int>()
        let resolver = ProxyResolver(timeLimit: .milliseconds(50)) { url in
            asked.add(url.absoluteString)
            release.wait { !$0.isEmpty }
            return nil
        }
        let downloader = ImageDownloader(configuration: .init(), proxies: resolver)
        // When the lookup hangs, the load goes on all the same, and the next one does not wait.
        let url = URL(string: "http://user:password@127.0.0.1:\(server.port)/path?token=1#x")!
        #expect(try Download(downloader, url).end().data == Download.body)
        let other = URL(string: "http://localhost:\(server.port)/a")!
        #expect(try Download(downloader, other).end().data == Download.body)
        #expect(asked.all == ["http://127.0.0.1:\(server.port)/"])
        #expect(ProxyResolver.standardTimeLimit == .seconds(5))
        release.add(1)
    }

    @Test("Many lookups of the proxy in a row exceed no time limit, and one that hangs does so until it answers")
    func manyProxyLookups() throws {
        let proxy = try LocalImageServer { _ in .ok(Data("proxied".utf8), contentType: "image/png") }
        let server = try server()
        let release = EventLog<Int>()
        let (looking, answered) = (EventLog<Int>(), EventLog<Int>())
        let resolver = ProxyResolver(timeLimit: .seconds(3)) { url in
            if url.host() == "127.0.0.1" {
                looking.add(1)
                release.wait { !$0.isEmpty }
                answered.add(1)
                return ["direct://"]
            }
            poll(nil, 0, 500)
            return ["http://127.0.0.1:\(proxy.port)"]
        }
        let downloader = ImageDownloader(configuration: .init(), proxies: resolver)
        // When the lookups together take longer than the limit
        let downloads = (0..<8).map { Download(downloader, URL(string: "http://host\($0).example/a")!) }
        for download in downloads { #expect(try download.end().data == Data("proxied".utf8)) }
        // When one hangs, those behind it wait no longer either.
        let hanging = Download(downloader, server.url("/a"))
        looking.wait { !$0.isEmpty }
        let behind = Download(downloader, URL(string: "http://localhost:\(server.port)/b")!)
        #expect(try hanging.end().data == Download.body)
        #expect(try behind.end().data == Download.body)
        #expect(answered.all.isEmpty)
        // Then the desktop is asked again as soon as it has answered.
        release.add(1)
        var number = 0
        #expect(
            EventLog<Int>.poll {
                number += 1
                let late = Download(downloader, URL(string: "http://localhost:\(server.port)/\(number)")!)
                return (try? late.end().data) == Data("proxied".utf8)
            }
        )
    }

    @Test("A proxy that does not answer is an error, and a load can be cancelled during the proxy lookup")
    func proxyLookup() throws {
        let gate = ServerGate()
        let server = try server()
        let looking = EventLog<Int>()
        let release = EventLog<Int>()
        let resolver = ProxyResolver { _ in
            looking.add(1)
            release.wait { !$0.isEmpty }
            return nil
        }
        let downloader = ImageDownloader(configuration: .init(), proxies: resolver)
        let cancelled = Download(downloader, server.url("/a"))
        looking.wait { !$0.isEmpty }
        cancelled.cancel()
        release.add(1)
        #expect(try Download(downloader, server.url("/b")).end().data == Download.body)
        #expect(server.requests.map(\.path) == ["/b"])
        gate.open()
        let closed = ImageDownloader { $0.proxy = .fixed(URL(string: "http://127.0.0.1:1")!) }
        #expect(Download(closed, server.url("/c")).failure()?.code == .connectionFailed)
    }
}
