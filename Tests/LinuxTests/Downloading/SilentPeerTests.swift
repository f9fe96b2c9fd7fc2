import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageLinux

/// What the downloader does about servers that say nothing, and about connections over which nothing comes any more.
@Suite("Silent peers")
struct SilentPeerTests {
    @Test("Loads of a host that does not answer fail together, over TLS as without it", arguments: ["http", "https"])
    func silentServer(scheme: String) throws {
        let listener = try ServerSocket.listen(port: 0)
        defer { listener.close() }
        let downloader = ImageDownloader {
            $0.connectTimeout = .seconds(1)
            $0.idleTimeout = .seconds(1)
            $0.maximumTransfersPerHost = 60
        }
        let start = ContinuousClock.now
        let downloads = try (0..<60).map { number in
            Download(downloader, try #require(URL(string: "\(scheme)://127.0.0.1:\(listener.localPort)/\(number)")))
        }
        for download in downloads {
            let error = download.failure()
            #expect(error?.code == .timedOut, "\(String(describing: error))")
        }
        // One after the other, they would take a minute, and one of them another one.
        #expect(ContinuousClock.now - start < .seconds(50))
    }

    @Test("The limit of a whole transfer holds while it waits for the connection of another one")
    func totalTimeout() throws {
        let listener = try ServerSocket.listen(port: 0)
        defer { listener.close() }
        let downloader = ImageDownloader { $0.totalTimeout = .milliseconds(100) }
        let downloads = try (0..<6).map { number in
            Download(downloader, try #require(URL(string: "https://127.0.0.1:\(listener.localPort)/\(number)")))
        }
        for download in downloads {
            #expect(download.failure()?.reason == "The request timed out (it took longer than 0.1 seconds)")
        }
    }

    @Test("No load waits for a connection over which another one has waited in vain")
    func deadConnection() throws {
        let nginx = try Nginx(files: Dictionary(uniqueKeysWithValues: (0..<8).map { ("\($0).bin", Download.body) }))
        let port = try #require(nginx.url("", .good).port)
        let relay = try Relay(to: UInt16(port))
        let downloader = ImageDownloader {
            $0.certificateAuthorityFile = nginx.authorityFile
        }
        func load(_ number: Int, idleTimeout: Duration? = nil) throws -> Download {
            let url = try #require(URL(string: "https://127.0.0.1:\(relay.port)/\(number).bin"))
            return Download(downloader, url) { $0.idleTimeout = idleTimeout }
        }
        #expect(try load(0).end().data == Download.body)
        // Given a connection that nothing passes any more
        relay.freeze()
        let first = try load(1, idleTimeout: .seconds(1))
        #expect(EventLog<Int>.poll { downloader.transferCounts.running == 1 })
        let others = try (2..<6).map { try load($0, idleTimeout: .seconds(600)) }
        // When the first load has waited in vain
        #expect(first.failure()?.code == .timedOut)
        // Then those that wait with it, and those that follow, have another one.
        for other in others { #expect(try other.end().data == Download.body) }
        #expect(try load(6).end().data == Download.body)
    }

    @Test("A connection from before a change of the network is not used again")
    func networkChange() throws {
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(Data(count: 16), contentType: "image/png")
            if request.path == "/slow" { response.faults.drip = (bytes: 1, every: .milliseconds(200)) }
            return response
        }
        let downloader = ImageDownloader()
        _ = try Download(downloader, server.url("/a")).end()
        downloader.networkDidChange()
        // Another host takes seconds meanwhile.
        let slow = try #require(URL(string: "http://localhost:\(server.port)/slow"))
        _ = try Download(downloader, slow).end()
        _ = try Download(downloader, server.url("/b")).end()
        #expect(Set(server.requests.map(\.connection)).count == 3)
    }

    @Test("Connections that are opened early take few of the places of loads")
    func preconnect() throws {
        let gate = Gate()
        gate.close()
        defer { gate.open() }
        let servers = try (0..<10).map { _ in try RawServer { _ in gate.wait() } }
        let downloader = ImageDownloader()
        for server in servers + servers {
            var request = LoaderRequest(url: URL(string: "https://127.0.0.1:\(server.port)/a.png")!)
            request.connectsOnly = true
            _ = downloader.load(request) { _ in }
        }
        let image = try LocalImageServer { _ in .ok(Data([1, 2, 3]), contentType: "image/png") }
        #expect(try Download(downloader, image.url("/a.png")).end().data == Data([1, 2, 3]))
        #expect(EventLog<Int>.poll { downloader.transferCounts == (4, 0) })
        downloader.cancelAllTransfers()
    }
}

/// Passes bytes between clients and a server on 127.0.0.1.
private final class Relay: Sendable {
    private struct State {
        var count = 0
        /// The number of the connections, from the first on, that nothing passes any more.
        var frozenCount = 0
    }

    /// The state that the threads share with the relay.
    private final class Shared: Sendable {
        private let state = Mutex(State())

        func add() -> Int {
            state.withLock { state in
                state.count += 1
                return state.count
            }
        }

        func freeze() { state.withLock { $0.frozenCount = $0.count } }

        func passes(_ number: Int) -> Bool { state.withLock { $0.frozenCount < number } }
    }

    private let shared = Shared()
    private let listener: ServerSocket

    var port: UInt16 { listener.localPort }

    init(to port: UInt16) throws {
        listener = try ServerSocket.listen(port: 0)
        let (listener, shared) = (listener, shared)
        Thread.detachNewThread {
            while let client = listener.acceptConnection(), let server = ServerSocket.connect(port: port) {
                let number = shared.add()
                for (source, target) in [(client, server), (server, client)] {
                    Thread.detachNewThread {
                        while case let bytes = source.receive(), !bytes.isEmpty {
                            if shared.passes(number), !target.send(Data(bytes)) { break }
                        }
                        if shared.passes(number) { target.shutDown() }
                    }
                }
            }
        }
    }

    deinit { listener.shutDown() }

    /// Lets no byte of the connections that are open pass any more, nor their end.
    func freeze() { shared.freeze() }
}
