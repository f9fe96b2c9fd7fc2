import Foundation
import Glibc
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("URLs without a host, or with a foreign one")
struct HostTests {
    private func manager(_ change: (inout ImageManager.Configuration) -> Void = { _ in }) -> ImageManager {
        var configuration = ImageManager.Configuration()
        (configuration.diskCache, configuration.retryPolicy) = (nil, .never)
        configuration.downloader = ImageDownloader()
        change(&configuration)
        return ImageManager(configuration: configuration)
    }

    @Test(
        "The error says invalidURL and names the URL",
        arguments: [
            "http:///x", "https:///x", "http:/x", "http:x", "https://:80/", "http://", "http://:80", "http://?a=b",
            "http://@/x", "https://user:password@/x", "file://host/path", "file://example.org/path",
            "file://host%2Fpath/x", "file://127.0.0.1/path", "file:///tmp/a%00b", "resource://host/path",

        ]
    )
    func invalid(text: String) async throws {
        let url = try #require(URL(string: text))
        let network = ManualNetwork()
        for isOnline in [true, false] {
            network.status = ImageNetworkStatus(isAvailable: isOnline)
            do {
                _ = try await manager { $0.networkMonitor = network }.image(for: url)
                Issue.record("\(text) has an image")
            } catch {
                #expect(error.code == .invalidURL && error.url == url, "\(error)")
            }
        }
    }

    @Test("Without a network, as the system says, one attempt tells whether there is one")
    func doubtfulNetwork() async throws {
        let server = try LocalImageServer { _ in
            .ok(TestImage.solid(1, size: PixelSize(width: 3, height: 2)), contentType: "image/png")
        }
        let network = ManualNetwork()
        network.status = ImageNetworkStatus(isAvailable: false)
        let refusing = try RefusingPort()
        for port in [server.port, refusing.number] {
            let downloader = ImageDownloader {
                $0.proxy = .none
                $0.requestModifier = RequestModifier(key: "public name") { request in
                    var request = request
                    request.url = URL(string: "http://127.0.0.1:\(port)/a")!
                    return request
                }
            }
            let manager = manager {
                ($0.networkMonitor, $0.downloader, $0.retryPolicy) = (network, downloader, ImageRetryPolicy())
            }
            let url = URL(string: "http://images.example.org/a")!
            if port == server.port {
                #expect(try await manager.image(for: url).pixelSize == PixelSize(width: 3, height: 2))
            } else {
                let error = await thrownError { try await manager.image(for: url) }
                #expect(error?.code == .offline && error?.attemptCount == 1)
            }
            // The switch of the app is no doubt.
            manager.isOffline = true
            manager.cache.removeAllFromMemory()
            let error = await thrownError { try await manager.image(for: URL(string: "http://images.example.org/b")!) }
            #expect(error?.reason.contains("set to be offline") == true)
        }
        #expect(server.requests.count == 1)
    }

    @Test("A file on this machine is read with and without localhost")
    func local() async throws {
        let directory = TemporaryDirectory()
        let path = "\(directory.path)/a.png"
        try TestImage.solid(1, size: PixelSize(width: 3, height: 2)).write(to: URL(filePath: path))
        for host in ["", "localhost", "LOCALHOST"] {
            let url = try #require(URL(string: "file://\(host)\(path)"))
            var request = ImageRequest(url: url)
            request.includesData = true
            let manager = manager()
            // From memory the file is read again for its bytes.
            for _ in 0..<2 {
                let response = try await manager.response(for: request)
                #expect(response.image.pixelSize == PixelSize(width: 3, height: 2) && response.data != nil)
            }
        }
    }

    @Test("A redirect and a request modifier cannot leave the host out")
    func later() throws {
        let server = try LocalImageServer { _ in .redirect(to: "http:///x") }
        #expect(Download(ImageDownloader(), server.url("/a")).failure() != nil)
        let download = Download(ImageDownloader(), server.url("/a")) {
            $0.requestModifier = RequestModifier(key: "no host") { request in
                var request = request
                request.url = URL(string: "http:///x")!
                return request
            }
        }
        #expect(download.failure()?.code == .invalidURL)
    }
}

/// A port that refuses connections for as long as the object exists, since nobody else can take it.
private final class RefusingPort {
    let number: UInt16
    private let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)

    init() throws {
        var (address, length) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isBound = withUnsafeMutablePointer(to: &address) { [descriptor] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        number = UInt16(bigEndian: address.sin_port)
        try #require(isBound)
    }

    deinit { close(descriptor) }
}
