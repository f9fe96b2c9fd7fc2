import FoundationEssentials
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

/// The samples of Testing.md, run as tests. The others are in Demo/Examples/TestedApp.
@Suite("The samples of the page on testing")
struct TestingExampleTests {
    private let url = URL(string: "https://example.org/a.png")!
    private let data = TestImage.solid(0xFF0000, size: PixelSize(width: 4, height: 3))

    @Test("An image is fetched once")
    func fetchedOnce() async throws {
        let loader = FakeLoader()
        let url = try #require(URL(string: "https://example.org/a.png"))
        loader.answer(url, with: TestImage.solid(0xFF0000, size: PixelSize(width: 4, height: 3)))
        let manager = ImageManager.testing(loader)
        let recorder = LoadRecorder(manager)
        let image = try await manager.image(for: url)
        _ = try await manager.image(for: url)
        #expect(image.pixelSize == PixelSize(width: 4, height: 3))
        #expect(recorder.transferCount(of: url) == 1)
        #expect(recorder.wait { $0.contains { if case .delivered(.memory) = $0.kind { true } else { false } } })
    }

    @Test("A load is held until the test finishes it")
    func held() async throws {
        let loader = FakeLoader(holdsResponses: true)
        loader.answer(url, with: data)
        let manager = ImageManager.testing(loader)
        let loading = Task { try await manager.image(for: url) }
        while loader.started.isEmpty { await Task.yield() }
        loader.send(data.prefix(20), for: url, expected: Int64(data.count))
        loader.finish(url)
        #expect(try await loading.value.pixelSize == PixelSize(width: 4, height: 3))
    }

    @Test("A failure is remembered until the clock has advanced")
    func remembered() async {
        let loader = FakeLoader()
        let clock = ManualClock()
        let manager = ImageManager.testing(loader, clock: clock) { $0.failureCacheDuration = .seconds(60) }
        for _ in 0..<2 { await #expect(throws: ImageError.self) { try await manager.image(for: url) } }
        #expect(loader.started.count == 1)
        clock.advance(by: .seconds(61))
        await #expect(throws: ImageError.self) { try await manager.image(for: url) }
        #expect(loader.started.count == 2)
    }

    @Test("A server that breaks off is contacted once")
    func brokenOff() async throws {
        let data = data
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.retryPolicy = .never
        let manager = ImageManager(configuration: configuration)
        let gate = ServerGate()
        let server = try LocalImageServer { request in
            guard request.path == "/slow.png" else { return .notFound }
            var response = ServerResponse.ok(data, contentType: "image/png")
            response.faults.gate = gate
            response.faults.resetAfterBytes = 20
            return response.conditional(on: request)
        }
        let loading = Task { try await manager.image(for: server.url("/slow.png")) }
        gate.open()
        await #expect(throws: ImageError.self) { try await loading.value }
        #expect(server.requestCount(path: "/slow.png") == 1)
    }
}
