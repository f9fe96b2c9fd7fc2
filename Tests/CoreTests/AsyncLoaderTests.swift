import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageTesting

@testable import WebImageCore

@Suite("Loaders that are asynchronous functions")
struct AsyncLoaderTests {
    /// An app's own source of bytes.
    private struct Photos: AsyncDataLoading {
        let bytes: @Sendable (LoaderRequest) async throws -> LoaderResult

        func canLoad(_ url: URL) -> Bool { url.scheme == "photo" }

        func data(for request: LoaderRequest) async throws -> LoaderResult { try await bytes(request) }
    }

    private struct Trouble: Error, CustomStringConvertible { let description = "The album is locked" }

    private static let image = TestImage.solid(1, size: PixelSize(width: 8, height: 6))

    private func url(_ name: String) -> URL { URL(string: "photo:///\(name)")! }

    private func fixture(
        retryPolicy: ImageRetryPolicy = .never,
        _ change: @escaping (inout Pipeline.Dependencies) -> Void = { _ in },
        _ bytes: @escaping @Sendable (LoaderRequest) async throws -> LoaderResult
    ) -> ManagerFixture {
        let fixture = ManagerFixture(retryPolicy: retryPolicy, change: change)
        fixture.manager.loaders.add(Photos(bytes: bytes))
        return fixture
    }

    @Test("The bytes that the function returns are decoded and cached, and loads of a URL share them")
    func loaded() async throws {
        let (calls, gate) = (EventLog<LoaderRequest>(), AsyncGate())
        let fixture = fixture { request in
            calls.add(request)
            try await gate.wait()
            return LoaderResult(data: Self.image, head: ResponseHead(url: request.url, status: 200))
        }
        let progress = EventLog<Int64>()
        let tasks = (0..<5).map { _ in
            fixture.manager.load(url("a"), on: InlineDispatcher(), progress: { received, _ in progress.add(received) })
            {
                _ in
            }
        }
        #expect(await eventually { gate.waitingCount == 1 && fixture.manager.pendingChangeCount == 0 })
        gate.open()
        for task in tasks {
            let response = try await task.response
            #expect(response.image.pixelSize == PixelSize(width: 8, height: 6) && response.source == .loader)
            #expect(response.head?.status == 200)
        }
        #expect(calls.all.count == 1 && calls.all[0].url == url("a"))
        #expect(progress.all.contains(Int64(Self.image.count)))
        fixture.manager.cache.removeAllFromMemory()
        #expect(try await fixture.manager.response(for: url("a")).source == .disk)
    }

    @Test("Functions that hang hold up no other load, and are cancelled with the last task")
    func hanging() async throws {
        let (gate, ends) = (AsyncGate(), EventLog<Bool>())
        let fixture = fixture { request in
            guard request.url.path().contains("held") else { return LoaderResult(data: Self.image) }
            defer { ends.add(Task.isCancelled) }
            try await gate.wait()
            return LoaderResult(data: Self.image)
        }
        let completions = EventLog<ImageError.Code?>()
        let held = (0..<100).flatMap { number in
            (0..<2).map { _ in
                fixture.manager.load(url("held\(number)"), on: InlineDispatcher()) { result in
                    completions.add(thrownError { try result.get() }?.code)
                }
            }
        }
        #expect(await eventually { gate.waitingCount == 100 })
        #expect(try await fixture.manager.image(for: url("other")).pixelSize.width == 8)
        // When one of the two tasks of each is cancelled, and then the other of half of them
        for index in held.indices where index.isMultiple(of: 2) { held[index].cancel() }
        for index in held.indices where index % 4 == 1 { held[index].cancel() }
        #expect(await eventually { ends.all == Array(repeating: true, count: 50) })
        gate.open()
        for index in held.indices where index % 4 == 3 { _ = try await held[index].image }
        #expect(completions.all.count == 200 && completions.all.count { $0 == .cancelled } == 150)
        #expect(await eventually { fixture.manager.activeCounts == (0, 0) })
    }

    @Test("An error of the library ends the load as it is, and another one names the loader, the cause and the remedy")
    func failing() async throws {
        let fixture = fixture { request in
            guard request.url.path() == "/own" else { throw Trouble() }
            throw ImageError(.badStatus, url: nil, reason: "Gone", remedy: "None.", retryAfter: .seconds(9))
        }
        let own = await thrownError { try await fixture.manager.image(for: url("own")) }
        #expect(own?.code == .badStatus && own?.reason == "Gone" && own?.retryAfter == .seconds(9))
        let other = try #require(await thrownError { try await fixture.manager.image(for: url("other")) })
        #expect(other.code == .unreadable && other.url == url("other") && !other.isTransient)
        #expect(other.reason == "The loader Photos failed (The album is locked)" && !other.remedy.isEmpty)
    }

    @Test("A transient error of the function has it called again")
    func retried() async throws {
        let calls = EventLog<Int>()
        var policy = ImageRetryPolicy()
        policy.initialDelay = .zero
        let fixture = fixture(retryPolicy: policy) { request in
            calls.add(1)
            guard calls.all.count > 1 else {
                throw ImageError(.connectionFailed, url: request.url, reason: "No album", remedy: "Wait.")
            }
            return LoaderResult(data: Self.image)
        }
        let task = fixture.manager.load(url("a"), on: InlineDispatcher()) { _ in }
        #expect(
            await eventually {
                fixture.clock.advance(by: .seconds(1))
                return task.isFinished
            }
        )
        #expect(try await task.image.pixelSize.width == 8 && calls.all.count == 2)
    }

    @Test("More bytes than the limit are an error")
    func tooLarge() async throws {
        let fixture = fixture({ $0.maximumByteCount = Self.image.count }) { request in
            #expect(request.maximumByteCount == Self.image.count)
            return LoaderResult(data: request.url.path() == "/large" ? Self.image + Data([0]) : Self.image)
        }
        #expect(try await fixture.manager.image(for: url("a")).pixelSize.width == 8)
        let error = await thrownError { try await fixture.manager.image(for: url("large")) }
        #expect(error?.code == .bodyTooLarge && error?.url == url("large"))
    }

    @Test("A function may say that the cached copy is current")
    func confirmed() async throws {
        let validators = EventLog<String?>()
        let fixture = fixture { request in
            validators.add(request.validators?.etag)
            var metadata = ResponseMetadata()
            (metadata.etag, metadata.cacheControl) = ("\"1\"", "no-cache")
            guard request.validators == nil else {
                return LoaderResult(data: Data(), metadata: metadata, isNotModified: true)
            }
            return LoaderResult(data: Self.image, metadata: metadata)
        }
        _ = try await fixture.manager.image(for: url("a"))
        #expect(await eventually { fixture.isQuiet })
        fixture.manager.cache.removeAllFromMemory()
        #expect(try await fixture.manager.response(for: url("a")).source == .revalidated)
        #expect(validators.all == [nil, "\"1\""])
    }

    @Test("A function is called once there is room for its bytes, with the priority of its load")
    func room() async throws {
        let budget = MemoryBudget(limit: 1600)
        let calls = EventLog<TaskPriority>()
        let fixture = fixture({ $0.budget = budget }) { _ in
            calls.add(Task.currentPriority)
            return LoaderResult(data: Self.image)
        }
        let body = budget.holdBody(1 << 20)
        let request = ImageRequest(url: url("a"), priority: .veryHigh)
        let task = fixture.manager.load(request, on: InlineDispatcher()) { _ in }
        let cancelled = fixture.manager.load(url("b"), on: InlineDispatcher()) { _ in }
        #expect(await eventually { fixture.manager.activeCounts.fetches == 2 })
        cancelled.cancel()
        #expect(await eventually { fixture.manager.activeCounts.fetches == 1 })
        #expect(calls.all.isEmpty)
        body.shrink(to: 0)
        _ = await task.result
        #expect(calls.all.count == 1 && calls.all[0] >= .userInitiated)
    }

    @Test("A load that is cancelled while it waits for room is released, although there is no room yet")
    func released() async {
        final class Owner: Sendable {}
        let budget = MemoryBudget(limit: 1600)
        let body = budget.holdBody(1 << 20)
        var request = LoaderRequest(url: url("a"))
        request.budget = budget
        weak var known: Owner?
        for isCancelledAtOnce in [true, false] {
            let operation: any FetchOperation
            do {
                let owner = Owner()
                known = owner
                operation = Photos { [owner] _ in withExtendedLifetime(owner) { LoaderResult(data: Self.image) } }
                    .load(request) { _ in }
            }
            if !isCancelledAtOnce { for _ in 0..<100 { await Task.yield() } }
            #expect(known != nil)
            operation.cancel()
            for _ in 0..<1_000_000 where known != nil { await Task.yield() }
            #expect(known == nil)
        }
        body.shrink(to: 0)
    }

    @Test("Many loads that fail, end and are cancelled at any time each complete once")
    func storm() async {
        let fixture = fixture { request in
            let number = Int(request.url.lastPathComponent) ?? 0
            for _ in 0..<number % 5 { await Task.yield() }
            if number % 3 == 0 { throw Trouble() }
            return LoaderResult(data: Self.image)
        }
        let completions = EventLog<Int>()
        let tasks = (0..<300).map { number in
            fixture.manager.load(url("\(number)"), on: InlineDispatcher()) { _ in completions.add(number) }
        }
        for (number, task) in tasks.enumerated() where number % 4 == 0 { task.cancel() }
        #expect(await eventually { completions.all.count >= 300 && fixture.manager.activeCounts == (0, 0) })
        #expect(completions.all.sorted() == Array(0..<300))
    }
}

extension ImageTask {
    /// The end of a load, however it ends.
    var result: Result<ImageResponse, ImageError> {
        get async {
            do throws(ImageError) { return .success(try await response) } catch { return .failure(error) }
        }
    }
}
