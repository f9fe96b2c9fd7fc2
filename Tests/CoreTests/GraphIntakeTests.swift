import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageTesting

@testable import WebImageCore

@Suite("The path of loads into the job graph, past the caller")
struct GraphIntakeTests {
    /// Keeps the thread that changes the graph.
    private let gate = DispatchSemaphore(value: 0)
    private let queue = WorkQueue(name: "test-intake", threadCount: 1)
    private let size = PixelSize(width: 8, height: 6)

    private func fixture() -> ManagerFixture {
        let fixture = ManagerFixture(hasDisk: false) { $0.intakeQueue = queue }
        queue.submit { [gate] in gate.wait() }
        return fixture
    }

    private func load(_ fixture: ManagerFixture, _ name: String) -> ImageTask {
        fixture.loader.answer(fixture.url(name), with: TestImage.solid(0xFF0000, size: size))
        return fixture.manager.load(fixture.url(name), on: InlineDispatcher()) { fixture.outcomes.add(.init($0)) }
    }

    @Test("Loads start in the order of their calls, however long nobody has taken them in")
    func order() {
        let fixture = fixture()
        for number in 0..<1000 { _ = load(fixture, "\(number)") }
        #expect(fixture.loader.started.isEmpty && fixture.manager.pendingChangeCount == 1000)
        gate.signal()
        #expect(fixture.outcomes.wait { $0.count == 1000 })
        #expect(fixture.loader.started == (0..<1000).map { fixture.url("\($0)") })
        #expect(fixture.outcomes.all.allSatisfy { $0 == .image(size, .loader) } && fixture.isIdle)
    }

    @Test("A load that is cancelled on its way fails at once and asks no loader")
    func cancelled() {
        let fixture = fixture()
        let (first, second) = (load(fixture, "a"), load(fixture, "b"))
        first.cancel()
        #expect(first.isFinished && fixture.outcomes.all == [.failure(.cancelled)])
        gate.signal()
        #expect(fixture.outcomes.wait { $0.count == 2 })
        #expect(second.isFinished && fixture.loader.started == [fixture.url("b")] && fixture.isIdle)
    }

    @Test("A load has the priority that it was given on its way")
    func priority() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false) { $0.intakeQueue = queue }
        queue.submit { [gate] in gate.wait() }
        let task = load(fixture, "a")
        task.priority = .veryHigh
        gate.signal()
        fixture.settle()
        #expect(fixture.loader.requests.map(\.priority) == [.veryHigh])
        task.cancel()
        #expect(fixture.isIdle && fixture.loader.cancelled == [fixture.url("a")])
    }

    @Test("A memory hit is delivered within its call, whatever waits")
    func hit() throws {
        let fixture = fixture()
        defer { gate.signal() }
        _ = load(fixture, "a")
        let pixels = try #require(PixelBuffer(size: size, format: .rgb) { _ in })
        fixture.manager.cache.store(WebImage(pixels: pixels), for: fixture.url("b"), in: .memory)
        _ = load(fixture, "b")
        #expect(fixture.outcomes.all == [.image(size, .memory)])
    }

    @Test("A manager that is released on the way of its loads still completes them")
    func release() {
        let outcomes = EventLog<ManagerFixture.Outcome>()
        func start() {
            let fixture = fixture()
            for name in ["a", "b", "c"] {
                fixture.loader.answer(fixture.url(name), with: TestImage.solid(0xFF0000, size: size))
                fixture.manager.load(fixture.url(name), on: InlineDispatcher()) { outcomes.add(.init($0)) }
            }
        }
        start()
        gate.signal()
        #expect(outcomes.wait { $0.count == 3 })
        #expect(outcomes.all.allSatisfy { $0 == .image(size, .loader) })
    }

    @Test("A load whose image is stored on its way does not load it again")
    func storedMeanwhile() throws {
        let fixture = fixture()
        let events = EventLog<LoadTraceEvent.Kind>()
        let observation = fixture.manager.observe { events.add($0.kind) }
        _ = load(fixture, "a")
        let pixels = try #require(PixelBuffer(size: size, format: .rgb) { _ in })
        fixture.manager.cache.store(WebImage(pixels: pixels), for: fixture.url("a"), in: .memory)
        gate.signal()
        #expect(fixture.outcomes.wait { $0.count == 1 })
        #expect(fixture.outcomes.all == [.image(size, .memory)] && fixture.loader.started.isEmpty)
        // It is queued, missed, found, ready and delivered.
        #expect(events.all.count == 5, "\(events.all)")
        // The cache counts one look for each load.
        #expect(fixture.memory.statistics.missCount == 1)
        withExtendedLifetime(observation) {}
    }

    @Test("A load that joins while the job of its image ends does not load the image again")
    func joiningAnEndedJob() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false) { $0.intakeQueue = queue }
        let loader = IntakeGateLoader(fixture.loader, queue)
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(0xFF0000, size: size))
        var request = ImageRequest(url: fixture.url("a"), decodeSize: .cover(PixelSize(width: 4, height: 3)))
        request.loader = loader
        fixture.load(request) { fixture.outcomes.add(.init($0)) }
        #expect(EventLog<Int>.poll { fixture.loader.started.count == 1 })
        loader.gate.withLock { $0 = gate }
        fixture.manager.load(request, on: InlineDispatcher()) { fixture.outcomes.add(.init($0)) }
        // The intake asks the loader of the second load right before it joins. Then the first load ends.
        #expect(EventLog<Int>.poll { loader.gate.withLock { $0 == nil } })
        fixture.loader.finish(fixture.url("a"))
        #expect(fixture.outcomes.wait { $0.count == 1 })
        gate.signal()
        #expect(fixture.outcomes.wait { $0.count == 2 })
        #expect(fixture.outcomes.all.map(\.isFromMemory) == [false, true] && fixture.loader.started.count == 1)
    }

    @Test("The previews of many loads start before their images")
    func previews() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false) { $0.intakeQueue = queue }
        queue.submit { [gate] in gate.wait() }
        for number in 0..<3 {
            var request = ImageRequest(url: fixture.url("\(number)"))
            request.previewURL = fixture.url("small\(number)")
            fixture.manager.load(request, on: InlineDispatcher(), partial: { _ in }) { _ in }
        }
        gate.signal()
        fixture.settle()
        #expect(
            fixture.loader.started == (0..<3).flatMap { [fixture.url("small\($0)"), fixture.url("\($0)")] }
        )
        for url in fixture.loader.started { fixture.loader.finish(url) }
    }

    @Test("Loads wait while the manager is suspended, those that have started go on, and all end in their order")
    func suspended() throws {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        _ = load(fixture, "running")
        fixture.settle()
        fixture.manager.isSuspended = true
        for name in ["a", "b", "c"] { _ = load(fixture, name) }
        fixture.settle()
        // Then only what ran runs, and ends
        #expect(fixture.loader.started == [fixture.url("running")])
        fixture.loader.finish(fixture.url("running"))
        #expect(fixture.outcomes.wait { $0 == [.image(size, .loader)] })
        // And an image in memory is delivered within its call.
        let pixels = try #require(PixelBuffer(size: size, format: .rgb) { _ in })
        fixture.manager.cache.store(WebImage(pixels: pixels), for: fixture.url("d"), in: .memory)
        _ = load(fixture, "d")
        #expect(fixture.outcomes.all == [.image(size, .loader), .image(size, .memory)])
        // When the manager goes on, so do those that waited, before a later one.
        fixture.manager.isSuspended = false
        _ = load(fixture, "e")
        fixture.settle()
        #expect(fixture.loader.started == ["running", "a", "b", "c", "e"].map(fixture.url))
        for url in fixture.loader.started.dropFirst() { fixture.loader.finish(url) }
        #expect(fixture.outcomes.wait { $0.count == 6 } && fixture.isIdle)
    }

    @Test(
        "A load that is cancelled while the manager is suspended fails at once and is given up, as are thousands of them"
    )
    func cancelledWhileSuspended() {
        let fixture = ManagerFixture(hasDisk: false)
        fixture.manager.isSuspended = true
        for number in 0..<5000 { load(fixture, "\(number)").cancel() }
        fixture.settle()
        #expect(fixture.outcomes.all == Array(repeating: .failure(.cancelled), count: 5000))
        #expect(fixture.manager.runningTasks.isEmpty)
        #expect(fixture.manager.activeCounts.jobs == 0, "what waits is released")
        fixture.manager.isSuspended = false
        #expect(fixture.isIdle && fixture.loader.started.isEmpty)
    }

    @Test("A manager that is released while it is suspended completes the loads that wait")
    func releaseWhileSuspended() {
        let outcomes = EventLog<ManagerFixture.Outcome>()
        func start() {
            let fixture = ManagerFixture(hasDisk: false)
            fixture.manager.isSuspended = true
            fixture.loader.answer(fixture.url("a"), with: TestImage.solid(0xFF0000, size: size))
            fixture.manager.load(fixture.url("a"), on: InlineDispatcher()) { outcomes.add(.init($0)) }
            fixture.settle()
        }
        start()
        #expect(outcomes.wait { $0 == [.image(size, .loader)] })
    }

    @Test("The running loads of a manager are those of its callers, wherever they are, and all can be cancelled")
    func running() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false) { $0.intakeQueue = queue }
        let loading = (0..<3).map { load(fixture, "\($0)") }
        // Two share a job, one has failed and loads another URL, and a child loads for a parent that nothing has started.
        let shared = load(fixture, "0")
        var request = ImageRequest(url: fixture.url("missing"))
        request.fallbackURLs = [fixture.url("fallback")]
        let failing = fixture.manager.load(request, on: InlineDispatcher()) { fixture.outcomes.add(.init($0)) }
        fixture.settle()
        fixture.loader.finish(fixture.url("missing"))
        #expect(EventLog<Int>.poll { fixture.loader.started.contains(fixture.url("fallback")) })
        let parent = ImageTask(binding: ImageRequest(url: fixture.url("parent")), in: fixture.manager.pipeline)
        let child = fixture.manager.makeTask(
            for: ImageRequest(url: fixture.url("child")),
            handlers: LoadHandlers { _ in }
        )
        #expect(parent.adopt(child))
        child.start()
        fixture.settle()
        fixture.manager.isSuspended = true
        let waiting = load(fixture, "waiting")
        fixture.settle()
        // And one is on its way.
        queue.submit { [gate] in gate.wait() }
        let arriving = load(fixture, "arriving")
        let all = loading + [shared, failing, parent, waiting, arriving]
        #expect(Set(fixture.manager.runningTasks.map(ObjectIdentifier.init)) == Set(all.map(ObjectIdentifier.init)))
        #expect(fixture.manager.runningTasks.count == all.count)

        fixture.manager.cancelAll()
        #expect(all.allSatisfy { $0.isCancelled })
        gate.signal()
        #expect(fixture.outcomes.wait { $0.count == 7 })
        #expect(fixture.outcomes.all.allSatisfy { $0 == .failure(.cancelled) })
        #expect(fixture.manager.runningTasks.isEmpty)
        // A load that is started later is not affected.
        fixture.manager.isSuspended = false
        #expect(fixture.isIdle)
        let later = load(fixture, "later")
        fixture.settle()
        #expect(fixture.manager.runningTasks.map(ObjectIdentifier.init) == [ObjectIdentifier(later)])
        fixture.loader.finish(fixture.url("later"))
        #expect(fixture.outcomes.wait { $0.last == .image(size, .loader) })
    }
}

/// Holds the thread of the intake once, when that thread asks about a URL.
private final class IntakeGateLoader: DataLoading {
    let gate = Mutex<DispatchSemaphore?>(nil)
    private let loader: FakeLoader
    private let thread: pthread_t

    init(_ loader: FakeLoader, _ intake: WorkQueue) {
        self.loader = loader
        let threads = EventLog<pthread_t>()
        intake.submit { threads.add(pthread_self()) }
        threads.wait { $0.count == 1 }
        thread = threads.all[0]
    }

    func canLoad(_ url: URL) -> Bool { loader.canLoad(url) }

    func shouldCacheOnDisk(_ url: URL) -> Bool {
        if pthread_self() == thread { gate.withLock { exchange(&$0, with: nil) }?.wait() }
        return loader.shouldCacheOnDisk(url)
    }

    func load(_ request: LoaderRequest, onEvent: @escaping @Sendable (LoaderEvent) -> Void) -> any FetchOperation {
        loader.load(request, onEvent: onEvent)
    }
}

extension ManagerFixture.Outcome {
    fileprivate var isFromMemory: Bool { if case .image(_, .memory) = self { true } else { false } }
}
