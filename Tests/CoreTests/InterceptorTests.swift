import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

/// An interceptor that is a closure.
private struct Interceptor: ImageIntercepting {
    var seesMemoryHits = false
    let body: @Sendable (InterceptorChain) async throws(ImageError) -> ImageResponse

    init(
        seesMemoryHits: Bool = false,
        _ body: @escaping @Sendable (InterceptorChain) async throws(ImageError) -> ImageResponse
    ) {
        self.seesMemoryHits = seesMemoryHits
        self.body = body
    }

    func intercept(_ chain: InterceptorChain) async throws(ImageError) -> ImageResponse { try await body(chain) }

    func interceptsMemoryHits(of request: ImageRequest) -> Bool { seesMemoryHits }
}

/// Holds interceptors until it is opened.
private final class AsyncGate: Sendable {
    private let state = Mutex<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

    var waitingCount: Int { state.withLock { $0.waiting.count } }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            defer { state = (true, []) }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

@Suite("Interceptors")
struct InterceptorTests {
    private static let picture = TestImage.solid(1, size: PixelSize(width: 8, height: 8))
    private let log = EventLog<String>()

    private func makeFixture(
        holdsResponses: Bool = false,
        _ interceptors: [any ImageIntercepting],
        dispatcher: any CallbackDispatching = InlineDispatcher(),
        change: (inout Pipeline.Dependencies) -> Void = { _ in }
    ) -> ManagerFixture {
        let fixture = ManagerFixture(holdsResponses: holdsResponses, dispatcher: dispatcher) {
            $0.interceptors = interceptors
            change(&$0)
        }
        for name in ["a", "b", "c"] { fixture.loader.answer(fixture.url(name), with: Self.picture) }
        return fixture
    }

    private func image(_ width: Int = 3) throws -> WebImage {
        let size = PixelSize(width: width, height: 1)
        return WebImage(
            pixels: try #require(
                PixelBuffer(size: size, format: .rgb) { $0.initializeMemory(as: UInt8.self, repeating: 7) }
            )
        )
    }

    @Test("The first one is the outermost, and each sees what the one before has made of the request")
    func order() async throws {
        let log = log
        func interceptor(_ name: String) -> Interceptor {
            Interceptor { chain throws(ImageError) in
                log.add("\(name) gets \(chain.request.url.lastPathComponent)")
                var request = chain.request
                request.url = URL(string: "http://host/\(name)") ?? request.url
                let response = try await chain.proceed(with: request)
                log.add("\(name) has \(response.url.lastPathComponent)")
                return response
            }
        }
        let fixture = makeFixture([interceptor("c"), interceptor("b")])
        let response = try await fixture.manager.response(for: fixture.url("a"))
        #expect(log.all == ["c gets a", "b gets c", "b has b", "c has b"])
        #expect(response.url == fixture.url("b") && response.source == .loader)
        #expect(fixture.loader.started == [fixture.url("b")])
    }

    @Test("One may answer itself, and nothing is loaded")
    func answer() async throws {
        let image = try image()
        let fixture = makeFixture([
            Interceptor { chain in ImageResponse(image: image, source: .loader, url: chain.request.url) }
        ])
        let response = try await fixture.manager.response(for: fixture.url("a"))
        #expect(response.image == image && fixture.loader.requests.isEmpty)
        #expect(fixture.manager.cachedImage(for: fixture.url("a")) == nil)
        #expect(await fixture.polled { fixture.isIdle })
    }

    @Test("One may try again with another request, and an error tells of both")
    func again() async throws {
        let other = URL(string: "http://host/b")
        let fixture = makeFixture([
            Interceptor { chain throws(ImageError) in
                do throws(ImageError) {
                    return try await chain.proceed()
                } catch {
                    var request = chain.request
                    request.url = other ?? request.url
                    return try await chain.proceed(with: request)
                }
            }
        ])
        #expect(try await fixture.manager.response(for: fixture.url("missing")).url == fixture.url("b"))
        #expect(fixture.loader.started == [fixture.url("missing"), fixture.url("b")])
        fixture.loader.answer(fixture.url("b"), with: .failure(.cancelledByServer))
        fixture.manager.cache.removeAllFromMemory()
        await fixture.manager.cache.removeAll(from: .disk)
        fixture.manager.forgetAllFailures()
        let error = await #expect(throws: ImageError.self) {
            try await fixture.manager.image(for: fixture.url("missing"))
        }
        #expect(error?.attempts.map(\.url) == [fixture.url("missing"), fixture.url("b")])
        #expect(error?.attempts.map(\.error.code) == [.badStatus, .badResponse])
    }

    @Test("The error of an interceptor ends the load, with what was tried before, and many attempts are bounded")
    func ownError() async throws {
        let refusal = ImageError(.invalidRequest, url: nil, reason: "Not today", remedy: "Come back tomorrow.")
        let refusing = makeFixture([Interceptor { _ throws(ImageError) in throw refusal }])
        let refused = await #expect(throws: ImageError.self) {
            try await refusing.manager.image(for: refusing.url("a"))
        }
        #expect(refused?.code == .invalidRequest && refused?.attempts.map(\.url) == [refusing.url("a")])
        let stubborn = makeFixture([
            Interceptor { chain throws(ImageError) in
                for number in 0..<200 {
                    var request = chain.request
                    request.url = URL(string: "http://host/missing\(number)") ?? request.url
                    _ = try? await chain.proceed(with: request)
                }
                throw refusal
            }
        ])
        let error = await #expect(throws: ImageError.self) { try await stubborn.manager.image(for: stubborn.url("a")) }
        #expect(error?.attempts.count == 64 && error?.attempts.last?.error.code == .invalidRequest)
        #expect(stubborn.loader.requests.count == 200)
    }

    @Test("A memory hit goes past them within the call, unless one of them asks for it")
    func memoryHits() async throws {
        let (log, image) = (log, try image())
        for sees in [false, true] {
            let fixture = makeFixture([
                Interceptor(seesMemoryHits: sees) { chain throws(ImageError) in
                    log.add("intercepted")
                    return try await chain.proceed()
                }
            ])
            fixture.manager.cache.store(image, for: fixture.url("a"), in: .memory)
            let ends = EventLog<LoadSource>()
            fixture.manager.load(fixture.url("a"), on: InlineDispatcher()) { result in
                if let source = try? result.get().source { ends.add(source) }
            }
            let isWithinCall = ends.all.count == 1
            #expect(isWithinCall != sees)
            #expect(await fixture.polled { ends.all == [.memory] })
            #expect(log.all.count == (sees ? 1 : 0))
            // What a binding asks within its call
            let hit = fixture.manager.memoryHit(of: fixture.url("a"), inAnySize: true)
            #expect((hit.image == nil) == sees)
            // The cache itself is asked as before.
            #expect(fixture.manager.cachedImage(for: fixture.url("a")) == image)
        }
    }

    @Test("The request processor comes before them, once, and keys and variants are found for what they make of it")
    func preparation() async throws {
        let (log, processed) = (log, EventLog<String>())
        let fixture = makeFixture([
            Interceptor { chain throws(ImageError) in
                log.add("\(chain.request.userInfo["processed"] ?? "not") \(chain.request.cacheKey ?? "no key")")
                var request = chain.request
                request.url = URL(string: "http://host/b?token=1") ?? request.url
                return try await chain.proceed(with: request)
            }
        ]) {
            $0.requestProcessor = { request in
                processed.add(request.url.lastPathComponent)
                var request = request
                request.userInfo["processed"] = "processed"
                return request
            }
            $0.cacheKeyFilter = .withoutQuery
        }
        let tokened = try #require(URL(string: "http://host/b?token=1"))
        fixture.loader.answer(tokened, with: Self.picture)
        let response = try await fixture.manager.response(for: fixture.url("a"))
        #expect(log.all == ["processed no key"] && processed.all == ["a"])
        #expect(response.url == tokened)
        #expect(fixture.manager.cachedImage(for: fixture.url("b?token=2")) != nil)
    }

    @Test("A cancelled load completes at once, though its interceptor hangs, and only once")
    func cancelled() async throws {
        let (log, gate) = (log, AsyncGate())
        let fixture = makeFixture([
            Interceptor { chain throws(ImageError) in
                await gate.wait()
                log.add(Task.isCancelled ? "cancelled" : "running")
                return try await chain.proceed()
            }
        ])
        let ends = EventLog<ImageError.Code?>()
        let task = fixture.manager.load(fixture.url("a"), on: InlineDispatcher()) { result in
            if case .failure(let error) = result { ends.add(error.code) } else { ends.add(nil) }
        }
        #expect(await fixture.polled { gate.waitingCount == 1 })
        let running = fixture.manager.runningTasks
        #expect(running.count == 1 && running.first === task)
        task.cancel()
        #expect(ends.all == [.cancelled] && fixture.manager.runningTasks.isEmpty)
        // When it goes on after its Swift task was cancelled
        fixture.settle()
        gate.open()
        #expect(await fixture.polled { fixture.isIdle })
        #expect(log.all == ["cancelled"] && ends.all.count == 1 && fixture.loader.requests.isEmpty)
    }

    @Test("Cancelling ends the transfer that an interceptor waits for")
    func cancelledTransfer() async throws {
        let log = log
        let fixture = makeFixture(
            holdsResponses: true,
            [
                Interceptor { chain throws(ImageError) in
                    do throws(ImageError) {
                        return try await chain.proceed()
                    } catch {
                        log.add("\(error.code)")
                        throw error
                    }
                }
            ]
        )
        let task = fixture.manager.load(fixture.url("a"), on: InlineDispatcher()) { fixture.outcomes.add(.init($0)) }
        #expect(await fixture.polled { fixture.loader.runningCount == 1 })
        task.cancel()
        #expect(await fixture.polled { fixture.isIdle && log.all.count == 1 })
        #expect(fixture.outcomes.all == [.failure(.cancelled)] && log.all == ["cancelled 2002"])
        #expect(fixture.loader.cancelled == [fixture.url("a")])
        // Cancelling the Swift task that awaits a response does the same.
        let awaiting = Task { try await fixture.manager.image(for: fixture.url("b")) }
        #expect(await fixture.polled { fixture.loader.runningCount == 1 })
        awaiting.cancel()
        let result = await awaiting.result
        #expect(throws: ImageError.self) { try result.get() }
        #expect(await fixture.polled { fixture.isIdle })
    }

    @Test("An interceptor may end one of its loads without the others")
    func race() async throws {
        let mirror = URL(string: "http://host/b")
        let fixture = makeFixture(
            holdsResponses: true,
            [
                Interceptor { chain throws(ImageError) in
                    // The first of two servers that answers wins.
                    let result = await withTaskGroup(of: Result<ImageResponse, ImageError>.self) { group in
                        var requests = [chain.request, chain.request]
                        requests[1].url = mirror ?? requests[1].url
                        for request in requests {
                            group.addTask {
                                do throws(ImageError) {
                                    return .success(try await chain.proceed(with: request))
                                } catch {
                                    return .failure(error)
                                }
                            }
                        }
                        let first = await group.next()
                        group.cancelAll()
                        return first
                    }
                    guard let result else { throw .cancelledByServer }
                    return try result.get()
                }
            ]
        )
        fixture.manager.load(fixture.url("a"), on: InlineDispatcher()) { fixture.outcomes.add(.init($0)) }
        #expect(await fixture.polled { fixture.loader.runningCount == 2 })
        fixture.loader.finish(fixture.url("b"))
        #expect(await fixture.polled { fixture.outcomes.all.count == 1 && fixture.isIdle })
        #expect(fixture.outcomes.all == [.image(PixelSize(width: 8, height: 8), .loader)])
        #expect(fixture.loader.cancelled == [fixture.url("a")])
    }

    @Test("One that hangs holds up nobody else")
    func hanging() async throws {
        let gate = AsyncGate()
        let fixture = makeFixture([
            Interceptor { chain throws(ImageError) in
                if chain.request.url.lastPathComponent.hasPrefix("slow") { await gate.wait() }
                return try await chain.proceed()
            }
        ])
        for number in 0..<200 { fixture.load("slow\(number)") }
        #expect(await fixture.polled { gate.waitingCount == 200 })
        #expect(try await fixture.manager.response(for: fixture.url("a")).source == .loader)
        #expect(fixture.manager.runningTasks.count == 200)
        gate.open()
        #expect(await fixture.polled { fixture.outcomes.all.count == 200 && fixture.isIdle })
    }

    @Test("Priorities pass through, and one that an interceptor sets is that of the load")
    func priorities() async throws {
        let fixture = makeFixture(
            holdsResponses: true,
            [
                Interceptor { chain throws(ImageError) in
                    var request = chain.request
                    if request.url.lastPathComponent == "b" { request.priority = .veryHigh }
                    return try await chain.proceed(with: request)
                }
            ]
        )
        let task = fixture.manager.load(ImageRequest(url: fixture.url("a"), priority: .low), on: InlineDispatcher()) {
            _ in
        }
        let other = fixture.manager.load(fixture.url("b"), on: InlineDispatcher()) { _ in }
        #expect(await fixture.polled { fixture.loader.runningCount == 2 })
        #expect(fixture.loader.priority(of: fixture.url("a")) == .low)
        #expect(fixture.loader.priority(of: fixture.url("b")) == .veryHigh && other.priority == .veryHigh)
        task.priority = .high
        #expect(await fixture.polled { fixture.loader.priority(of: fixture.url("a")) == .high })
        fixture.manager.cancelAll()
        #expect(await fixture.polled { fixture.isIdle })
    }

    @Test("Progress and partial images arrive, and the cached image of a refresh")
    func partials() async throws {
        let fixture = makeFixture(
            holdsResponses: true,
            [Interceptor { chain throws(ImageError) in try await chain.proceed() }]
        )
        let file = TestImage.make(size: PixelSize(width: 100, height: 80), format: .jpeg) { x, y in UInt32(x * y) }
        fixture.loader.answer(fixture.url("a"), with: file)
        let (partials, progress) = (EventLog<Bool>(), EventLog<Int64>())
        let request = ImageRequest(url: fixture.url("a"), loading: .progressive)
        fixture.manager.load(
            request,
            on: InlineDispatcher(),
            progress: { received, _ in progress.add(received) },
            partial: { partials.add($0.isPartial) }
        ) { fixture.outcomes.add(.init($0)) }
        #expect(await fixture.polled { fixture.loader.runningCount == 1 })
        fixture.loader.send(file.prefix(file.count / 2), for: request.url, expected: Int64(file.count))
        #expect(await fixture.polled { partials.all == [true] && progress.all == [Int64(file.count / 2)] })
        fixture.loader.send(file.suffix(file.count - file.count / 2), for: request.url, received: Int64(file.count))
        fixture.loader.finish(request.url)
        #expect(await fixture.polled { fixture.outcomes.all == [.image(PixelSize(width: 100, height: 80), .loader)] })
        // When the cached image is refreshed
        let refresh = ImageRequest(url: request.url, cachePolicy: .refresh)
        fixture.manager.load(refresh, on: InlineDispatcher(), partial: { partials.add($0.isPartial) }) {
            fixture.outcomes.add(.init($0))
        }
        #expect(await fixture.polled { partials.all == [true, false] && fixture.loader.runningCount == 1 })
        fixture.loader.finish(request.url)
        #expect(await fixture.polled { fixture.outcomes.all.count == 2 && fixture.isIdle })
    }

    @Test("A manager that is suspended runs none, and goes on afterwards")
    func suspended() async throws {
        let log = log
        let fixture = makeFixture([
            Interceptor { chain throws(ImageError) in
                log.add("intercepted")
                return try await chain.proceed()
            }
        ])
        fixture.manager.isSuspended = true
        fixture.load("a")
        let other = fixture.load("b")
        #expect(log.all.isEmpty && fixture.manager.runningTasks.count == 2)
        other.cancel()
        fixture.manager.isSuspended = false
        #expect(await fixture.polled { fixture.outcomes.all.count == 2 && fixture.isIdle })
        #expect(log.all.count == 1 && fixture.loader.started == [fixture.url("a")])
    }

    @Test("They stand around loads of the app, a prefetcher too, and not around fallbacks and previews")
    func scope() async throws {
        let log = log
        let fixture = makeFixture(
            [
                Interceptor { chain throws(ImageError) in
                    log.add(chain.request.url.lastPathComponent)
                    return try await chain.proceed()
                }
            ],
            dispatcher: ManualDispatcher()
        )
        var request = ImageRequest(url: fixture.url("missing"))
        request.fallbackURLs = [fixture.url("gone"), fixture.url("a")]
        request.previewURL = fixture.url("b")
        let ends = EventLog<URL?>()
        fixture.manager.load(request, on: InlineDispatcher(), partial: { _ in }) { ends.add(try? $0.get().url) }
        #expect(await fixture.polled { ends.all == [fixture.url("a")] })
        let task = ImagePrefetcher(manager: fixture.manager).prefetch([fixture.url("c")])
        #expect(await fixture.polled { task.isFinished })
        #expect(log.all == ["missing", "c"])
    }

    @Test("A new request gets the size of the widget and what else only that knows")
    func filledIn() async throws {
        let fixture = makeFixture([
            Interceptor { chain throws(ImageError) in
                try await chain.proceed(with: ImageRequest(url: chain.request.url, transformer: .rounded(1)))
            }
        ])
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(1, size: PixelSize(width: 80, height: 80)))
        var request = ImageRequest(url: fixture.url("a"), decodeSize: .contain(PixelSize(width: 20, height: 20)))
        request.displayScale = 2
        let image = try await fixture.manager.image(for: request)
        #expect(image.pixelSize == PixelSize(width: 20, height: 20) && image.displayScale == 2)
    }

    @Test("Nothing of a load that has ended is kept")
    func released() async throws {
        final class Owner: Sendable {}
        let fixture = makeFixture([Interceptor { chain throws(ImageError) in try await chain.proceed() }])
        weak var owner: Owner?
        do {
            let strong = Owner()
            owner = strong
            var request = ImageRequest(url: fixture.url("a"))
            request.userInfo["owner"] = strong
            _ = try await fixture.manager.image(for: request)
        }
        #expect(await fixture.polled { fixture.isQuiet })
        for _ in 0..<1000 where owner != nil { await Task.yield() }
        #expect(owner == nil)
    }

    @Test("Thousands of loads that are cancelled at any moment end once each")
    func storm() async throws {
        let fixture = makeFixture([
            Interceptor { chain throws(ImageError) in
                await Task.yield()
                return try await chain.proceed()
            }
        ])
        let ends = EventLog<Int>()
        for number in 0..<3000 {
            var request = ImageRequest(url: fixture.url(["a", "b", "c"][number % 3]))
            request.cachePolicy = .reload
            let task = fixture.manager.load(request, on: InlineDispatcher()) { _ in ends.add(number) }
            if number % 2 == 0 {
                for _ in 0..<number % 64 { sched_yield() }
                task.cancel()
            }
        }
        #expect(await fixture.polled { ends.all.count == 3000 && fixture.isIdle })
        #expect(Set(ends.all).count == 3000 && fixture.manager.runningTasks.isEmpty)
    }
}

extension ImageError {
    fileprivate static let cancelledByServer = ImageError(.badResponse, url: nil, reason: "No", remedy: "Ask again.")
}
