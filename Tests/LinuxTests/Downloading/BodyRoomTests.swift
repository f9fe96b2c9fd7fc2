import FoundationEssentials
import TestSupport
import Testing
import WebImageTesting

@testable import WebImageCore
@testable import WebImageLinux

@Suite("Transfers and the memory for bodies")
struct BodyRoomTests {
    /// A budget in which bodies may take 3 MB.
    private let budget = MemoryBudget(limit: 16 << 20)

    private func request(_ url: URL) -> LoaderRequest {
        var request = LoaderRequest(url: url)
        request.budget = budget
        return request
    }

    @Test("Transfers wait for the decoding of bodies that are there, and start in their order")
    func waiting() throws {
        let server = try LocalImageServer { _ in .ok(Download.body, contentType: "image/png") }
        let downloader = ImageDownloader { $0.maximumConcurrentTransfers = 1 }
        // Given bodies that fill their share
        var whole: MemoryBudget.Reservation? = budget.holdBody(3 << 20)
        #expect(whole != nil && !budget.hasRoomForBody)
        // When others are wanted
        var low = request(server.url("/low"))
        low.priority = .low
        let downloads = [
            Download(downloader, low), Download(downloader, request(server.url("/a"))),
            Download(downloader, request(server.url("/b"))),
        ]
        #expect(EventLog<Int>.poll { downloader.transferCounts == (0, 3) })
        #expect(server.requests.isEmpty)
        // Then they come once the bodies are decoded
        whole = nil
        for download in downloads { #expect(try download.end().data == Download.body) }
        #expect(server.requests.map(\.path) == ["/a", "/b", "/low"])
        #expect(EventLog<Int>.poll { budget.arrivingByteCount == 0 })
    }

    @Test("A transfer that waits for room can be cancelled, and does not hold others when it is gone")
    func cancelled() throws {
        let server = try LocalImageServer { _ in .ok(Download.body, contentType: "image/png") }
        let downloader = ImageDownloader()
        var whole: MemoryBudget.Reservation? = budget.holdBody(3 << 20)
        let (first, second) = (
            Download(downloader, request(server.url("/a"))), Download(downloader, request(server.url("/b")))
        )
        #expect(EventLog<Int>.poll { downloader.transferCounts == (0, 2) })
        first.cancel()
        #expect(EventLog<Int>.poll { downloader.transferCounts == (0, 1) })
        whole = nil
        #expect(try second.end().data == Download.body && whole == nil)
        #expect(server.requests.map(\.path) == ["/b"])
    }

    @Test("Bodies that arrive without room go to a file, and a body larger than all room arrives")
    func spilled() throws {
        // Given bodies of twice the room
        let body = TestBytes.stepping(by: 31, count: 6 << 20)
        let server = try LocalImageServer { _ in .ok(body, contentType: "image/png") }
        let downloader = ImageDownloader()
        // When four arrive at a time
        let downloads = (0..<4).map { Download(downloader, request(server.url("/\($0)"))) }
        var most = 0
        let end = ContinuousClock.now + .seconds(60)
        while !downloads.allSatisfy({ !$0.results.isEmpty }), .now < end { most = max(most, budget.arrivingByteCount) }
        // Then each takes at most a megabyte beyond the room, and what libcurl hands over at a time
        #expect(most <= (3 << 20) + 4 * (1 << 20) + 4 * (128 << 10), "\(most)")
        for download in downloads { #expect(try download.end().data == body) }
        #expect(EventLog<Int>.poll { budget.arrivingByteCount == 0 })
    }

    @Test("Bodies go to files while animations fill the room for bodies")
    func spilledBesideAnimations() throws {
        // Given the files of animations, which take all room
        let animations = budget.holdAnimation(3 << 20)
        let body = TestBytes.stepping(by: 31, count: 6 << 20)
        let server = try LocalImageServer { _ in .ok(body, contentType: "image/png") }
        // When a large body arrives
        let download = Download(ImageDownloader(), request(server.url("/")))
        var most = 0
        let end = ContinuousClock.now + .seconds(60)
        while download.results.isEmpty, .now < end { most = max(most, budget.arrivingByteCount) }
        // Then it comes at once, and no more than a megabyte of it, and what libcurl hands over at a time, is in memory.
        #expect(try download.end().data == body)
        #expect(most <= (1 << 20) + (128 << 10), "\(most)")
        withExtendedLifetime(animations) {}
    }

    @Test("Slow servers hold no transfer back, whatever has arrived of their bodies")
    func slowServers() throws {
        // Given bodies that have filled the room, and whose rest does not come
        let (gate, count) = (ServerGate(), 900_000)
        defer { gate.open() }
        let server = try LocalImageServer { request in
            guard request.path.hasPrefix("/slow") else { return .ok(Download.body, contentType: "image/png") }
            var response = ServerResponse.ok(Data(count: 3 << 20), contentType: "image/png")
            response.faults.bodyGate = (count, gate)
            return response
        }
        let downloader = ImageDownloader()
        let slow = (0..<2).map { Download(downloader, request(server.url("/slow\($0)"))) }
        #expect(EventLog<Int>.poll { budget.arrivingByteCount == 2 * count })
        let others = budget.arrivingBody()
        others.byteCount = 3 << 20
        #expect(budget.isFullOfBodies)
        // Then others start all the same
        #expect(try Download(downloader, request(server.url("/a"))).end().data == Download.body)
        for download in slow { download.cancel() }
        #expect(EventLog<Int>.poll { budget.arrivingByteCount == others.byteCount })
    }
}
