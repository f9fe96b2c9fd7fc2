import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WebImageFormats
import WebImageLinux
import WebImageTesting

@testable import WebImageCore

@Suite("Cancellation")
struct CancellationTests {
    private let picture = TestImage.solid(0xFF0000, size: PixelSize(width: 64, height: 48))

    @Test("A fetch is cancelled when its last task is cancelled, not before")
    func lastOne() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        fixture.loader.answer(fixture.url("a"), with: picture)
        let tasks = (0..<3).map { _ in fixture.load("a") }
        tasks[0].cancel()
        tasks[1].cancel()
        fixture.settle()
        #expect(fixture.loader.cancelled.isEmpty)
        tasks[2].cancel()
        fixture.settle()
        #expect(fixture.loader.cancelled == [fixture.url("a")])
        #expect(fixture.outcomes.all == [.failure(.cancelled), .failure(.cancelled), .failure(.cancelled)])
        #expect(fixture.isIdle)
    }

    @Test("A load that was cancelled is not a failure: the next one asks the server")
    func again() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        fixture.loader.answer(fixture.url("a"), with: picture)
        fixture.load("a").cancel()
        fixture.load("a")
        fixture.loader.finish(fixture.url("a"))
        #expect(fixture.outcomes.wait { $0.count == 2 })
        #expect(fixture.outcomes.all.last == .image(PixelSize(width: 64, height: 48), .loader))
        #expect(fixture.loader.started.count == 2)
    }

    @Test("The remaining tasks get their image")
    func stayers() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        fixture.loader.answer(fixture.url("a"), with: picture)
        let leaving = fixture.load("a")
        fixture.load("a")
        leaving.cancel()
        fixture.loader.finish(fixture.url("a"))
        #expect(fixture.outcomes.wait { $0.count == 2 })
        #expect(fixture.outcomes.all.first == .failure(.cancelled))
        #expect(fixture.outcomes.all.last == .image(PixelSize(width: 64, height: 48), .loader))
    }

    @Test("A cancellation before delivery wins over the result, and the completion is called once")
    func late() {
        let dispatcher = ManualDispatcher()
        let fixture = ManagerFixture(dispatcher: dispatcher)
        let task = fixture.load("missing")
        while dispatcher.waitingCount == 0 {}
        task.cancel()
        dispatcher.run()
        #expect(fixture.outcomes.all == [.failure(.cancelled)])
        #expect(task.isFinished)
        task.cancel()
        dispatcher.run()
        #expect(fixture.outcomes.all.count == 1)
    }

    @Test("A cancelled load releases its decoder of partial images with no lock held, on another thread")
    func decoder() {
        // Given a load with partial images
        let intake = WorkQueue(name: "test-intake", threadCount: 1)
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false) { $0.intakeQueue = intake }
        let url = fixture.url("a")
        fixture.loader.answer(url, with: Data(count: 600))
        let releases = EventLog<Bool>()
        // The thread that cancels it, on behalf of every caller
        let threads = EventLog<pthread_t>()
        intake.submit { threads.add(pthread_self()) }
        #expect(threads.wait { $0.count == 1 })
        let caller = threads.all[0]
        var request = ImageRequest(url: url, loading: .progressive)
        request.decoder = ReleaseNotingCoder { [weak manager = fixture.manager] in
            _ = manager?.activeCounts
            releases.add(pthread_equal(caller, pthread_self()) == 0)
        }
        let partials = EventLog<Int>()
        let task = fixture.load(request, partial: { partials.add($0.pixelSize.width) }) { _ in }
        fixture.loader.send(Data(count: 600), for: url)
        #expect(partials.wait { !$0.isEmpty })
        #expect(EventLog<Int>.poll { fixture.isAtRest })
        // When it is cancelled
        task.cancel()
        // Then the decoder goes elsewhere
        #expect(releases.wait { !$0.isEmpty })
        #expect(releases.all == [true])
    }

    @Test("A cancelled await throws, and its fetch is cancelled")
    func awaiting() async {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let waiting = Task { () -> ImageError.Code? in
            do throws(ImageError) {
                _ = try await fixture.manager.image(for: fixture.url("a"))
                return nil
            } catch {
                return error.code
            }
        }
        while fixture.loader.started.isEmpty { await Task.yield() }
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
        #expect(fixture.isIdle)
    }

    @Test("An await in a task that is already cancelled throws")
    func cancelledBefore() async {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let waiting = Task { () -> Bool in
            withUnsafeCurrentTask { $0?.cancel() }
            do throws(ImageError) {
                _ = try await fixture.manager.image(for: fixture.url("a"))
                return false
            } catch {
                return error.isCancelled
            }
        }
        #expect(await waiting.value)
        #expect(fixture.isIdle)
    }

    @Test("With thousands of loads and cancellations from many threads each completion is called once")
    func storm() async {
        let fixture = ManagerFixture()
        for number in 0..<20 { fixture.loader.answer(fixture.url("\(number)"), with: picture) }
        let log = EventLog<Int>()
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    for number in 0..<500 {
                        let id = thread * 500 + number
                        let request = ImageRequest(
                            url: fixture.url("\(id * 7 % 25)"),
                            priority: ImagePriority.allCases[id % 5],
                            cachePolicy: id % 5 == 0 ? .reload : .standard,
                            decodeSize: id % 3 == 0 ? .original : .contain(PixelSize(width: 4 + id % 30, height: 30))
                        )
                        // Not the fixture's load, which waits until the task has joined its job
                        let task = fixture.manager.load(request, on: InlineDispatcher()) { _ in log.add(id) }
                        if id % 4 == 0 { task.cancel() }
                        if id % 7 == 0 { task.priority = .veryHigh }
                    }
                }
            }
        }
        #expect(log.wait { $0.count == 4000 })
        // There are as many different numbers as calls, so each completion was called once.
        #expect(Set(log.all).count == 4000)
        #expect(log.all.count == 4000)
        #expect(fixture.isIdle)
    }

    /// Waits as a decoder does that uses another process, until its load is cancelled or it is released.
    private final class WaitingCoder: ExtendedDecoding {
        let decodes = EventLog<String>()
        let releases = EventLog<Int>()

        func canDecode(_ format: ImageFormat) -> Bool { true }

        func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
            try PNGCoder().decode(data, options: options)
        }

        func decode(
            _ data: Data,
            options: DecodeOptions,
            holding reservation: MemoryBudget.Reservation?,
            isCancelled: () -> Bool
        ) throws(ImageError) -> WebImage {
            decodes.add("begun")
            _ = EventLog<Int>.poll { isCancelled() || !releases.all.isEmpty }
            if isCancelled() {
                decodes.add("left")
                throw .cancelled(options.url)
            }
            return try decode(data, options: options)
        }
    }

    @Test("A decoder that waits is left when its last task is cancelled, and another job decodes then")
    func waitingDecoder() {
        // Given two jobs that share the image of a decoder
        let coder = WaitingCoder()
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false) {
            $0.coders = CoderRegistry([coder])
            $0.decodeQueue = WorkQueue(name: "test-decode", threadCount: 1)
        }
        fixture.loader.answer(fixture.url("a"), with: picture)
        let first = fixture.load("a")
        let second = fixture.load("a", transformer: .crop(to: PixelRect(x: 0, y: 0, width: 9, height: 7)))
        fixture.loader.finish(fixture.url("a"))
        #expect(coder.decodes.wait { $0 == ["begun"] })
        // When the first is cancelled
        first.cancel()
        // Then the decoder leaves its image, and decodes it for the second
        #expect(coder.decodes.wait { $0 == ["begun", "left", "begun"] })
        coder.releases.add(1)
        #expect(fixture.outcomes.wait { $0.count == 2 })
        #expect(fixture.outcomes.all.first == .failure(.cancelled))
        #expect(fixture.outcomes.all.last == .image(PixelSize(width: 9, height: 7), .loader))
        #expect(second.isFinished && fixture.isIdle)
    }
}

/// Makes decoders that call a closure when they are released.
private struct ReleaseNotingCoder: ImageDecoding {
    final class Session: IncrementalImageDecoding, @unchecked Sendable {
        // @unchecked: a decoder is used by one thread at a time.
        let inner = ByteCountingCoder.Session()
        let onRelease: @Sendable () -> Void

        init(_ onRelease: @escaping @Sendable () -> Void) {
            self.onRelease = onRelease
        }

        deinit {
            onRelease()
        }

        func append(_ data: Data) throws(ImageError) { try inner.append(data) }
        func partialImage() -> WebImage? { inner.partialImage() }
        func finish(_ data: Data) throws(ImageError) -> WebImage { try inner.finish(data) }
    }

    let onRelease: @Sendable () -> Void

    func canDecode(_ format: ImageFormat) -> Bool { true }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try ByteCountingCoder().decode(data, options: options)
    }

    func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? { Session(onRelease) }
}
