import FoundationEssentials
import Testing
import WebImageCore
import WebImageTesting

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
        #expect(fixture.loader.cancelled.isEmpty)
        tasks[2].cancel()
        #expect(fixture.loader.cancelled == [fixture.url("a")])
        #expect(fixture.outcomes.all == [.failure(.cancelled), .failure(.cancelled), .failure(.cancelled)])
        #expect(fixture.isIdle)
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
                        let task = fixture.load(request) { _ in log.add(id) }
                        if id % 4 == 0 { task.cancel() }
                        if id % 7 == 0 { task.priority = .veryHigh }
                    }
                }
            }
        }
        #expect(log.wait(seconds: 60) { $0.count == 4000 })
        // There are as many different numbers as calls, so each completion was called once.
        #expect(Set(log.all).count == 4000)
        #expect(log.all.count == 4000)
        #expect(fixture.isIdle)
    }
}
