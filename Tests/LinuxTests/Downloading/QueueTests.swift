import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageLinux

@Suite("The queue of the downloader")
struct QueueTests {
    /// A server that holds what path says until a gate is opened.
    private func server(holding gate: ServerGate, _ holds: @escaping @Sendable (String) -> Bool) throws
        -> LocalImageServer
    {
        try LocalImageServer { request in
            var response = ServerResponse.ok(Data(count: 10), contentType: "image/png")
            if holds(request.path) { response.faults.gate = gate }
            return response
        }
    }

    @Test("Six at a time; those that wait go by priority")
    func window() throws {
        let (gate, firstGate) = (ServerGate(), ServerGate())
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(Download.body, contentType: "image/png")
            if request.path.hasPrefix("/held") { response.faults.gate = request.path == "/held0" ? firstGate : gate }
            return response
        }
        let downloader = ImageDownloader()
        let held = (0..<6).map { Download(downloader, server.url("/held\($0)")) }
        #expect(EventLog<Int>.poll { gate.waitingCount == 5 && firstGate.waitingCount == 1 })
        let waiting = [
            Download(downloader, server.url("/low"), priority: .low),
            Download(downloader, server.url("/normal")),
        ]
        let raised = Download(downloader, server.url("/raised"), priority: .veryLow)
        let dropped = Download(downloader, server.url("/dropped"), priority: .high)
        raised.setPriority(.veryHigh)
        dropped.cancel()
        #expect(EventLog<Int>.poll { downloader.transferCounts == (6, 3) })
        #expect(server.requests.map(\.path).sorted() == (0..<6).map { "/held\($0)" })
        // When there is room for one at a time
        firstGate.open()
        for download in waiting + [raised] { _ = try download.end() }
        #expect(server.requests.dropFirst(6).map(\.path) == ["/raised", "/normal", "/low"])
        gate.open()
        for download in held { #expect(try download.end().data == Download.body) }
        #expect(server.totalConnections <= 6)
    }

    @Test(
        "In the order in which they were asked for, or the reverse",
        arguments: [ImageDownloader.TransferOrder.firstInFirstOut, .lastInFirstOut]
    )
    func order(order: ImageDownloader.TransferOrder) throws {
        let gate = ServerGate()
        let server = try server(holding: gate) { $0 == "/held" }
        let downloader = ImageDownloader {
            $0.maximumConcurrentTransfers = 1
            $0.transferOrder = order
        }
        let held = Download(downloader, server.url("/held"))
        #expect(EventLog<Int>.poll { gate.waitingCount == 1 })
        let downloads = (0..<5).map { Download(downloader, server.url("/\($0)")) }
        #expect(EventLog<Int>.poll { downloader.transferCounts.waiting == 5 })
        gate.open()
        for download in downloads + [held] { _ = try download.end() }
        let expected = (0..<5).map { "/\($0)" }
        #expect(server.requests.dropFirst().map(\.path) == (order == .firstInFirstOut ? expected : expected.reversed()))
    }

    @Test("A host that is slow does not take the places of the others")
    func perHost() throws {
        let gate = ServerGate()
        let slow = try server(holding: gate) { _ in true }
        let quick = try LocalImageServer { _ in .ok(Data(count: 10), contentType: "image/png") }
        let downloader = ImageDownloader { $0.maximumTransfersPerHost = 2 }
        let held = (0..<5).map { Download(downloader, slow.url("/\($0)"), priority: .high) }
        #expect(EventLog<Int>.poll { gate.waitingCount == 2 })
        // The other one under another name, which is what counts
        for index in 0..<3 {
            let url = URL(string: "http://localhost:\(quick.port)/\(index)")!
            #expect(try Download(downloader, url).end().data.count == 10)
        }
        #expect(gate.waitingCount == 2)
        gate.open()
        for download in held { _ = try download.end() }
    }

    @Test("Suspended, nothing is started, and what runs goes on; a change of the window holds at once")
    func suspended() throws {
        let gate = ServerGate()
        let server = try server(holding: gate) { $0 == "/held" }
        let downloader = ImageDownloader()
        let running = Download(downloader, server.url("/held"))
        #expect(EventLog<Int>.poll { gate.waitingCount == 1 })
        downloader.isSuspended = true
        let waiting = Download(downloader, server.url("/a"))
        gate.open()
        _ = try running.end()
        #expect(EventLog<Int>.poll { downloader.transferCounts == (0, 1) })
        #expect(server.requests.count == 1)
        downloader.configuration.maximumConcurrentTransfers = 1
        downloader.isSuspended = false
        _ = try waiting.end()
    }

    @Test("All are cancelled at once, those that run and those that wait")
    func cancelAll() throws {
        let gate = ServerGate()
        let server = try server(holding: gate) { _ in true }
        let downloader = ImageDownloader()
        let downloads = (0..<20).map { Download(downloader, server.url("/\($0)")) }
        #expect(EventLog<Int>.poll { gate.waitingCount == 6 })
        downloader.cancelAllTransfers()
        for download in downloads {
            #expect(download.failure()?.code == .cancelled)
            #expect(download.results.count == 1)
        }
        #expect(EventLog<Int>.poll { gate.waitingCount == 0 && downloader.transferCounts == (0, 0) })
    }

    @Test("A storm of starts that are cancelled is held to a rate, from a burst on")
    func tokens() {
        let start = ContinuousClock.now
        var bucket = TokenBucket(ImageDownloader.RateLimit(perSecond: 10, burst: 3), now: start)
        for _ in 0..<3 { #expect(bucket.take(now: start) == nil) }
        let pause = bucket.take(now: start)
        #expect(pause.map { $0 > .milliseconds(99) && $0 < .milliseconds(101) } == true)
        #expect(bucket.take(now: start + .milliseconds(101)) == nil)
        #expect(bucket.take(now: start + .milliseconds(102)) != nil)
        // What ends well costs nothing
        bucket.giveBack()
        #expect(bucket.take(now: start + .milliseconds(102)) == nil)
        // A long rest is worth a burst, not more
        for _ in 0..<3 { #expect(bucket.take(now: start + .seconds(100)) == nil) }
        #expect(bucket.take(now: start + .seconds(100)) != nil)
    }

    @Test("The rate limit holds up transfers that are cancelled, not those that are wanted")
    func rateLimit() throws {
        let server = try LocalImageServer { _ in .ok(Data(count: 10), contentType: "image/png") }
        let downloader = ImageDownloader { $0.rateLimit = ImageDownloader.RateLimit(perSecond: 1, burst: 2) }
        let clock = ContinuousClock()
        let time = try clock.measure {
            let downloads = (0..<100).map { Download(downloader, server.url("/\($0)")) }
            for download in downloads { _ = try download.end() }
        }
        // At one a second it would take 98 seconds.
        #expect(time < .seconds(20))
        // Two that hang, and are cancelled, use the tokens up
        let gate = ServerGate()
        let slow = try self.server(holding: gate) { _ in true }
        let held = (0..<2).map { Download(downloader, slow.url("/\($0)")) }
        #expect(EventLog<Int>.poll { gate.waitingCount == 2 })
        for download in held { download.cancel() }
        let next = Download(downloader, slow.url("/next"))
        #expect(EventLog<Int>.poll { downloader.transferCounts == (0, 1) })
        gate.open()
        _ = try next.end()
    }

    @Test("Progress comes in steps, and the last one always")
    func progressInterval() throws {
        let server = try LocalImageServer { _ in
            var response = ServerResponse.ok(Download.body, contentType: "image/png")
            response.faults.drip = (bytes: 5_000, every: .milliseconds(1))
            return response
        }
        let download = Download(ImageDownloader { $0.minimumProgressFraction = 0.25 }, server.url("/a"))
        _ = try download.end()
        #expect((2...4).contains(download.progress.count), "\(download.progress.map(\.received))")
        #expect(download.progress.last?.received == 100_000)
    }
}
