import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageLinux

@Suite("The queue of the downloader")
struct QueueTests {
    /// Makes a server that holds the responses of some paths until a gate opens.
    private func server(holding gate: ServerGate, _ holds: @escaping @Sendable (String) -> Bool) throws
        -> LocalImageServer
    {
        try LocalImageServer { request in
            var response = ServerResponse.ok(Data(count: 10), contentType: "image/png")
            if holds(request.path) { response.faults.gate = gate }
            return response
        }
    }

    @Test("Six transfers run at a time, and the others start by priority")
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
        // When one transfer at a time may run
        firstGate.open()
        for download in waiting + [raised] { _ = try download.end() }
        #expect(server.requests.dropFirst(6).map(\.path) == ["/raised", "/normal", "/low"])
        gate.open()
        for download in held { #expect(try download.end().data == Download.body) }
        #expect(server.totalConnections <= 6)
    }

    @Test(
        "Transfers start first in, first out, or last in, first out",
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

    @Test("The transfer of an older load goes first, though a stage before has kept it for longer")
    func age() throws {
        let gate = ServerGate()
        let server = try server(holding: gate) { $0 == "/held" }
        let downloader = ImageDownloader { $0.maximumConcurrentTransfers = 1 }
        let held = Download(downloader, server.url("/held"))
        #expect(EventLog<Int>.poll { gate.waitingCount == 1 })
        let ends = EventLog<String>()
        for (name, age) in [("b", 2), ("c", 3), ("a", 1)] as [(String, UInt64)] {
            var request = LoaderRequest(url: server.url("/\(name)"))
            request.age = age
            _ = downloader.load(request) { event in
                if case .finished = event { ends.add(name) }
            }
        }
        #expect(EventLog<Int>.poll { downloader.transferCounts.waiting == 3 })
        gate.open()
        _ = try held.end()
        #expect(ends.wait { $0.count == 3 })
        #expect(server.requests.dropFirst().map(\.path) == ["/a", "/b", "/c"])
    }

    @Test("A slow host does not block transfers from other hosts")
    func perHost() throws {
        let gate = ServerGate()
        let slow = try server(holding: gate) { _ in true }
        let quick = try LocalImageServer { _ in .ok(Data(count: 10), contentType: "image/png") }
        let downloader = ImageDownloader { $0.maximumTransfersPerHost = 2 }
        let held = (0..<5).map { Download(downloader, slow.url("/\($0)"), priority: .high) }
        #expect(EventLog<Int>.poll { gate.waitingCount == 2 })
        // The same server under another name counts as another host.
        for index in 0..<3 {
            let url = URL(string: "http://localhost:\(quick.port)/\(index)")!
            #expect(try Download(downloader, url).end().data.count == 10)
        }
        #expect(gate.waitingCount == 2)
        gate.open()
        for download in held { _ = try download.end() }
    }

    @Test("A server that does not answer holds up no other port of its host")
    func perPort() throws {
        let gate = ServerGate()
        let slow = try server(holding: gate) { _ in true }
        let quick = try LocalImageServer { _ in .ok(Data(count: 10), contentType: "image/png") }
        let downloader = ImageDownloader()
        let held = (0..<7).map { Download(downloader, slow.url("/\($0)"), priority: .high) }
        #expect(EventLog<Int>.poll { gate.waitingCount == 6 && downloader.transferCounts == (6, 1) })
        #expect(try Download(downloader, quick.url("/a")).end().data.count == 10)
        #expect(gate.waitingCount == 6 && held.allSatisfy { $0.results.isEmpty })
        gate.open()
        for download in held { _ = try download.end() }
    }

    /// Other names of 127.0.0.1, each of which counts as a host.
    private static let names = ["localhost", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "017700000001"]

    private func url(_ path: String, on server: LocalImageServer, host name: String) -> URL {
        URL(string: "http://\(name):\(server.port)/\(path)")!
    }

    @Test("Hosts that hang leave room for one that does not, and at last make room", .timeLimit(.minutes(4)))
    func manyHosts() throws {
        let (gate, longGate) = (ServerGate(), ServerGate())
        // The servers answer with a first byte, since the speed is measured from then on.
        let slow = try LocalImageServer { _ in
            var response = ServerResponse.ok(Data(count: 10), contentType: "image/png")
            response.faults.bodyGate = (afterBytes: 1, gate: gate)
            return response
        }
        let quick = try server(holding: longGate) { $0 == "/long" }
        let downloader = ImageDownloader { $0.idleTimeout = .seconds(15) }
        // When three hosts hang with all that they may have, eighteen of twenty-four transfers
        let names = Self.names.dropFirst().prefix(3)
        let held = names.flatMap { name in
            (0..<10).map { Download(downloader, url("\($0)", on: slow, host: name), priority: .veryHigh) }
        }
        #expect(EventLog<Int>.poll { gate.waitingCount == 18 })
        // Then another host has room at once, for several images also beside one that takes long.
        let long = Download(downloader, url("long", on: quick, host: "localhost"))
        #expect(EventLog<Int>.poll { longGate.waitingCount == 1 })
        let images = (0..<10).map { Download(downloader, url("\($0)", on: quick, host: "localhost")) }
        for image in images { _ = try image.end() }
        #expect(held.allSatisfy { $0.results.isEmpty } && long.results.isEmpty)
        longGate.open()
        _ = try long.end()
        // When the room is full of hosts that hang
        let late = (Self.names.dropFirst(4) + ["0177.1", "0x7f.0.1", "0177.0.1"]).map { name in
            Download(downloader, url("x", on: slow, host: name), priority: .veryHigh)
        }
        #expect(EventLog<Int>.poll { gate.waitingCount == 24 })
        // Then one of them fails after a third of the time without bytes, and no more than that one.
        let time = try ContinuousClock().measure {
            _ = try Download(downloader, url("last", on: quick, host: "localhost"), priority: .veryHigh).end()
        }
        #expect(time > .seconds(3))
        let failures = (held + late).compactMap { $0.results.isEmpty ? nil : $0.failure() }
        #expect(failures.map(\.code) == [.timedOut] && failures[0].reason.contains("another server"))
        for download in held + late { download.cancel() }
        gate.open()
    }

    @Test("A transfer that drips is ended when another host waits, and only then")
    func dripping() throws {
        let slow = try LocalImageServer { _ in
            var response = ServerResponse.ok(Data(count: 1000), contentType: "image/png")
            response.faults.drip = (bytes: 1, every: .milliseconds(50))
            return response
        }
        let quick = try LocalImageServer { _ in .ok(Data(count: 10), contentType: "image/png") }
        let downloader = ImageDownloader {
            ($0.maximumConcurrentTransfers, $0.maximumTransfersPerHost) = (2, 2)
            $0.idleTimeout = .milliseconds(1500)
        }
        let dripping = (0..<2).map { Download(downloader, slow.url("/\($0)")) }
        for download in dripping { download.events.wait { $0.count > 40 } }
        #expect(dripping.allSatisfy { $0.results.isEmpty })
        _ = try Download(downloader, url("a", on: quick, host: "localhost")).end()
        #expect(dripping.filter { !$0.results.isEmpty }.map { $0.failure()?.code } == [.timedOut])
        for download in dripping { download.cancel() }
    }

    @Test("A redirect counts for the host that it leads to")
    func redirected() throws {
        let gate = ServerGate()
        let slow = try server(holding: gate) { _ in true }
        let server = try LocalImageServer { [names = Self.names] request in
            request.path == "/own"
                ? .ok(Data(count: 10), contentType: "image/png")
                : .redirect(to: "http://\(names[0]):\(slow.port)\(request.path)")
        }
        let downloader = ImageDownloader { $0.maximumTransfersPerHost = 2 }
        let held = (0..<5).map { Download(downloader, server.url("/\($0)")) }
        #expect(EventLog<Int>.poll { gate.waitingCount == 2 && downloader.transferCounts == (2, 3) })
        _ = try Download(downloader, server.url("/own")).end()
        #expect(gate.waitingCount == 2)
        gate.open()
        for download in held { #expect(try download.end().data.count == 10) }
        #expect(EventLog<Int>.poll { downloader.transferCounts == (0, 0) })
    }

    @Test("The time limit of a transfer does not count what a redirect waits for its host")
    func redirectedTimeLimit() throws {
        let target = try LocalImageServer { request in
            var response = ServerResponse.ok(Data(count: 30), contentType: "image/png")
            if request.path == "/long" { response.faults.drip = (bytes: 1, every: .milliseconds(50)) }
            return response
        }
        let server = try LocalImageServer { [names = Self.names] _ in
            .redirect(to: "http://\(names[0]):\(target.port)/end")
        }
        let downloader = ImageDownloader { $0.maximumTransfersPerHost = 1 }
        let long = Download(downloader, url("long", on: target, host: Self.names[0]))
        long.events.wait { $0.count > 2 }
        let redirected = Download(downloader, server.url("/start")) { $0.totalTimeout = .milliseconds(700) }
        let loaded = try redirected.end()
        #expect(loaded.data.count == 30)
        #expect(try #require(loaded.metrics).waiting > .milliseconds(700))
        _ = try long.end()
    }

    @Test("Ten thousand waiting transfers of two hosts start in a moment")
    func manyTransfers() throws {
        let gate = ServerGate()
        let slow = try server(holding: gate) { _ in true }
        let quick = try LocalImageServer { _ in .ok(Data(count: 10), contentType: "image/png") }
        let downloader = ImageDownloader { $0.maximumTransfersPerHost = 1 }
        let held = (0..<10_000).map { Download(downloader, slow.url("/\($0)"), priority: .high) }
        let time = try ContinuousClock().measure {
            for index in 0..<100 { _ = try Download(downloader, url("\(index)", on: quick, host: "localhost")).end() }
        }
        #expect(time < .seconds(60))
        for download in held { download.cancel() }
        gate.open()
    }

    @Test("A suspended downloader that is released cancels what waits")
    func suspendedAndReleased() throws {
        let server = try LocalImageServer { _ in .ok(Data(count: 10), contentType: "image/png") }
        var downloader: ImageDownloader? = ImageDownloader()
        downloader?.isSuspended = true
        let waiting = try Download(#require(downloader), server.url("/a"))
        #expect(EventLog<Int>.poll { downloader?.transferCounts.waiting == 1 })
        downloader = nil
        #expect(waiting.failure()?.code == .cancelled)
        #expect(server.requests.isEmpty)
    }

    @Test("A suspended downloader starts nothing and continues what runs; a new transfer limit applies at once")
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

    @Test("Running and waiting transfers can all be cancelled at once")
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

    @Test("Where the system starts no thread, a download fails with an error that says so, and a later one tries again")
    func noThread() throws {
        let server = try LocalImageServer { _ in .ok(Download.body, contentType: "image/png") }
        let (starts, permits) = (EventLog<Int>(), EventLog<Int>())
        let downloader = ImageDownloader(configuration: .init(), proxies: .desktop) { body in
            starts.add(0)
            return permits.all.isEmpty ? EAGAIN : startDetachedThread(body)
        }
        // Given a system that starts none
        for number in 0..<2 {
            let error = try #require(Download(downloader, server.url("/\(number)")).failure())
            #expect(error.code == .connectionFailed && error.isTransient)
            #expect(error.url == server.url("/\(number)") && "\(error)".contains("ulimit -u"))
        }
        #expect(starts.all.count == 2)
        // When it starts one again, then downloads succeed
        permits.add(0)
        #expect(try Download(downloader, server.url("/2")).end().data == Download.body)
    }

    @Test("An idle network thread ends, and the next one has its connections until the downloader is released")
    func idleThread() throws {
        let server = try LocalImageServer { _ in .ok(Download.body, contentType: "image/png") }
        let ends = EventLog<Int>()
        var downloader: ImageDownloader? = ImageDownloader(
            configuration: ImageDownloader.Configuration(),
            proxies: .desktop,
            idleTime: .milliseconds(20)
        ) { body in
            startDetachedThread {
                body()
                ends.add(0)
            }
        }
        for number in 1...3 {
            let download = try Download(#require(downloader), server.url("/\(number)"))
            #expect(try download.end().data == Download.body)
            #expect(ends.wait { $0.count >= number })
        }
        #expect(server.totalConnections == 1 && server.openConnections == 1)
        downloader = nil
        #expect(EventLog<Int>.poll { server.openConnections == 0 })
    }

    @Test("Where the system starts no thread, a downloader that is released closes its connections all the same")
    func noThreadAtTheEnd() throws {
        let server = try LocalImageServer { _ in .ok(Download.body, contentType: "image/png") }
        let (starts, ends) = (EventLog<Int>(), EventLog<Int>())
        var downloader: ImageDownloader? = ImageDownloader(
            configuration: ImageDownloader.Configuration(),
            proxies: .desktop,
            idleTime: .milliseconds(20)
        ) { body in
            starts.add(0)
            guard starts.all.count == 1 else { return EAGAIN }
            return startDetachedThread {
                body()
                ends.add(0)
            }
        }
        _ = try Download(#require(downloader), server.url("/a")).end()
        #expect(ends.wait { $0.count == 1 })
        #expect(server.openConnections == 1)
        downloader = nil
        #expect(starts.all.count == 2)
        #expect(EventLog<Int>.poll { server.openConnections == 0 })
    }

    @Test("Starts that are cancelled are limited to a rate after a burst")
    func tokens() {
        let start = ContinuousClock.now
        var bucket = TokenBucket(ImageDownloader.RateLimit(perSecond: 10, burst: 3), now: start)
        for _ in 0..<3 { #expect(bucket.take(now: start) == nil) }
        let pause = bucket.take(now: start)
        #expect(pause.map { $0 > .milliseconds(99) && $0 < .milliseconds(101) } == true)
        #expect(bucket.take(now: start + .milliseconds(101)) == nil)
        #expect(bucket.take(now: start + .milliseconds(102)) != nil)
        // A transfer that is not cancelled costs nothing.
        bucket.giveBack()
        #expect(bucket.take(now: start + .milliseconds(102)) == nil)
        // A long pause allows one burst, not more.
        for _ in 0..<3 { #expect(bucket.take(now: start + .seconds(100)) == nil) }
        #expect(bucket.take(now: start + .seconds(100)) != nil)
    }

    @Test("The rate limit delays cancelled transfers only")
    func rateLimit() throws {
        let server = try LocalImageServer { _ in .ok(Data(count: 10), contentType: "image/png") }
        let downloader = ImageDownloader { $0.rateLimit = ImageDownloader.RateLimit(perSecond: 1, burst: 2) }
        let clock = ContinuousClock()
        let time = try clock.measure {
            let downloads = (0..<100).map { Download(downloader, server.url("/\($0)")) }
            for download in downloads { _ = try download.end() }
        }
        // At one start per second this takes 98 seconds.
        #expect(time < .seconds(97))
        // Two transfers that hang and are cancelled use up the tokens.
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
}
