import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageLinux

@Suite("Where URLs lead")
struct TargetTests {
    private func manager(_ shouldLoad: @escaping @Sendable (URL) -> Bool) -> ImageManager {
        var configuration = ImageManager.Configuration()
        (configuration.diskCache, configuration.retryPolicy) = (nil, .never)
        configuration.downloader = ImageDownloader()
        configuration.shouldLoad = shouldLoad
        return ImageManager(configuration: configuration)
    }

    @Test("The app is asked about each redirect, and nothing is sent where it refuses")
    func redirects() async throws {
        let image = TestImage.solid(1, size: PixelSize(width: 3, height: 2))
        let server = try LocalImageServer { request in
            switch request.path {
            case "/start": .redirect(to: "/middle")
            case "/middle": .redirect(to: "/secret/image")
            default: .ok(image, contentType: "image/png")
            }
        }
        let asked = EventLog<String>()
        let refusing = manager { url in
            asked.add(url.path())
            return !url.path().hasPrefix("/secret")
        }
        let error = await thrownError { try await refusing.image(for: server.url("/start")) }
        #expect(error?.code == .invalidRequest && error?.reason.contains("/secret/image") == true)
        #expect(asked.all == ["/start", "/middle", "/secret/image"])
        #expect(server.requests.map(\.path) == ["/start", "/middle"])
        #expect(try await manager { _ in true }.image(for: server.url("/start")).pixelSize.width == 3)
    }

    @Test("Of loads that share a transfer, only those that refuse the redirect fail, also when they join late")
    func shared() throws {
        let (gate, second) = (ServerGate(), ServerGate())
        let server = try LocalImageServer { request in
            var response =
                request.path == "/start"
                ? ServerResponse.redirect(to: "/end") : .ok(Download.body, contentType: "image/png")
            response.faults.gate = request.path == "/start" ? gate : second
            return response
        }
        let downloader = ImageDownloader()
        func load(_ allows: Bool) -> Download {
            var request = LoaderRequest(url: server.url("/start"))
            request.shouldLoad = { _ in allows }
            return Download(downloader, request)
        }
        let (refusing, allowing) = (load(false), load(true))
        #expect(EventLog<Int>.poll { gate.waitingCount == 1 })
        gate.open()
        #expect(refusing.failure()?.code == .invalidRequest)
        #expect(EventLog<Int>.poll { second.waitingCount == 1 })
        let late = load(false)
        #expect(late.failure()?.code == .invalidRequest)
        second.open()
        #expect(try allowing.end().data == Download.body)
        #expect(server.requests.count == 2 && refusing.results.count == 1 && late.results.count == 1)
    }

    @Test(
        "The app is asked about the host that libcurl would connect to",
        arguments: [
            "2130706433", "127.1", "0x7f.1", "017700000001", "127%2e0.0.1", "127.0.0.1.", "１２７.0.0.1", "127。0。0。1",
            "%31%32%37.0.0.1", "user:password@127.0.1",
        ]
    )
    func normalized(host: String) async throws {
        let server = try LocalImageServer { _ in .notFound }
        guard let url = URL(string: "http://\(host):\(server.port)/a") else { return }
        let asked = EventLog<String?>()
        let careful = manager { url in
            asked.add(url.host())
            return url.host() != "127.0.0.1"
        }
        let error = await thrownError { try await careful.image(for: url) }
        #expect(error?.code == .invalidRequest, "\(String(describing: error))")
        #expect(asked.all.last == "127.0.0.1" && server.requests.isEmpty)
    }

    @Test("A URL in its usual form is asked about once")
    func once() async throws {
        let server = try LocalImageServer { _ in .notFound }
        let asked = EventLog<URL>()
        let manager = manager { url in
            asked.add(url)
            return true
        }
        for text in ["http://127.0.0.1:\(server.port)/a/../b?c=%20", "HTTP://LocalHost:\(server.port)/a"] {
            _ = try? await manager.image(for: URL(string: text)!)
        }
        #expect(asked.all.count == 2)
        #expect(CurlAddress.normalized(URL(string: "http://[0:0:0:0:0:0:0:1]/")!)?.host() == "::1")
        #expect(CurlAddress.normalized(URL(string: "https://EXAMPLE.org./a")!)?.host() == "example.org")
    }

    @Test("A redirect from https to http is not followed unless the app permits it", arguments: [false, true])
    func downgrade(isAllowed: Bool) throws {
        let nginx = try Nginx(files: ["a.bin": Download.body])
        let downloader = ImageDownloader {
            $0.certificateAuthorityFile = nginx.authorityFile
            $0.allowsInsecureRedirects = isAllowed
        }
        let download = Download(downloader, nginx.url("insecure/a.bin", .good))
        if isAllowed {
            #expect(try download.end().data == Download.body)
        } else {
            let error = download.failure()
            #expect(error?.code == .badRedirect && error?.reason.contains("allowsInsecureRedirects") == true)
            #expect(!nginx.log.contains { $0.hasPrefix("HTTP/1") }, "\(nginx.log)")
        }
    }

    @Test("A redirect to http is followed over https on a host that requires TLS, and leads to no host without it")
    func strictHost() throws {
        let nginx = try Nginx(files: ["a.bin": Download.body])
        let downloader = ImageDownloader { $0.certificateAuthorityFile = nginx.authorityFile }
        let url = nginx.strictURL("cleartext/a.bin", scheme: "https")
        #expect(try Download(downloader, url).end().data == Download.body)
        // When that host redirects once more, to one that does not
        let next = Download(downloader, nginx.strictURL("cleartext/insecure/a.bin", scheme: "https"))
        let error = next.failure()
        #expect(error?.code == .badRedirect && error?.reason.contains("allowsInsecureRedirects") == true)
        #expect(!nginx.log.contains { $0.hasPrefix("HTTP/1") }, "\(nginx.log)")
    }
}
