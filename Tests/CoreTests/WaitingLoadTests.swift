import Dispatch
import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("More loads than the job graph takes at a time")
struct WaitingLoadTests {
    /// Keeps the thread that changes the graph.
    private let gate = DispatchSemaphore(value: 0)
    private let queue = WorkQueue(name: "test-intake", threadCount: 1)
    private let size = PixelSize(width: 8, height: 6)
    /// The number of loads that the graph takes before others wait.
    private let enough = 64

    /// A manager whose loader answers nothing by itself, and that takes in nothing until the gate opens.
    private func fixture() -> ManagerFixture {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false) { $0.intakeQueue = queue }
        queue.submit { [gate] in gate.wait() }
        return fixture
    }

    @discardableResult
    private func load(
        _ fixture: ManagerFixture,
        _ name: String,
        _ priority: ImagePriority = .normal,
        decodeSize: DecodeSize? = nil
    ) -> ImageTask {
        fixture.loader.answer(fixture.url(name), with: TestImage.solid(0xFF0000, size: size))
        var request = ImageRequest(url: fixture.url(name), priority: priority)
        request.decodeSize = decodeSize
        return fixture.manager.load(request, on: InlineDispatcher()) { fixture.outcomes.add(.init($0)) }
    }

    @Test("A load that is more urgent overtakes all that wait, and one that has become so does, too")
    func priority() {
        let fixture = fixture()
        let tasks = (0..<enough + 20).map { load(fixture, "\($0)") }
        load(fixture, "urgent", .veryHigh)
        tasks[enough + 19].priority = .high
        gate.signal()
        #expect(EventLog<Int>.poll { fixture.loader.started.count >= enough + 2 })
        let names = fixture.loader.started.map(\.lastPathComponent)
        #expect(names.prefix(enough) == (0..<enough).map { "\($0)" }[...])
        #expect(names[enough...].prefix(2) == ["urgent", "\(enough + 19)"])
        fixture.manager.cancelAll()
        #expect(fixture.isIdle)
    }

    @Test("Loads enter as others end, and all of them end")
    func turns() {
        let fixture = ManagerFixture(hasDisk: false) { $0.intakeQueue = queue }
        queue.submit { [gate] in gate.wait() }
        for number in 0..<3000 { load(fixture, "\(number)") }
        gate.signal()
        #expect(fixture.outcomes.wait { $0.count == 3000 })
        #expect(fixture.outcomes.all.allSatisfy { $0 == .image(size, .loader) } && fixture.isIdle)
    }

    @Test("Loads of a server that does not answer keep no others out")
    func silence() {
        let fixture = fixture()
        for number in 0..<enough + 100 { load(fixture, "silent\(number)") }
        load(fixture, "answered")
        gate.signal()
        // When no load ends, and the last one is asked for all the same
        #expect(EventLog<Int>.poll { fixture.loader.started.contains(fixture.url("answered")) })
        fixture.loader.finish(fixture.url("answered"))
        // Then it ends
        #expect(fixture.outcomes.wait { $0 == [.image(size, .loader)] })
        fixture.manager.cancelAll()
        #expect(fixture.isIdle)
    }

    @Test("Loads that wait share the fetch of their image, in whatever order they came")
    func sharedFetches() {
        let fixture = fixture()
        for number in 0..<enough { load(fixture, "\(number)") }
        load(fixture, "shared")
        load(fixture, "other")
        load(fixture, "shared", decodeSize: .cover(PixelSize(width: 4, height: 3)))
        // This one finds its job in the graph, however many there are.
        load(fixture, "0")
        gate.signal()
        #expect(EventLog<Int>.poll { fixture.loader.started.count == enough + 2 })
        for url in fixture.loader.started { fixture.loader.finish(url) }
        #expect(fixture.outcomes.wait { $0.count == enough + 4 })
        #expect(Set(fixture.loader.started).count == fixture.loader.started.count && fixture.isIdle)
    }

    @Test("A load that is cancelled while it waits never starts, and its twin does")
    func cancelled() {
        let fixture = fixture()
        for number in 0..<enough { load(fixture, "\(number)") }
        let waiting = (0..<40).map { load(fixture, "waiting\($0)") }
        let twin = load(fixture, "waiting0")
        for task in waiting { task.cancel() }
        gate.signal()
        #expect(EventLog<Int>.poll { fixture.loader.started.count == enough + 1 })
        #expect(fixture.loader.started.last == fixture.url("waiting0") && !twin.isFinished)
        #expect(fixture.outcomes.all == Array(repeating: .failure(.cancelled), count: 40))
        fixture.manager.cancelAll()
        #expect(fixture.isIdle)
    }

    @Test("The running loads of a manager include those that wait, and all can be cancelled")
    func running() {
        let fixture = fixture()
        let tasks = (0..<200).map { load(fixture, "\($0)") }
        gate.signal()
        fixture.settle()
        #expect(Set(fixture.manager.runningTasks.map(ObjectIdentifier.init)) == Set(tasks.map(ObjectIdentifier.init)))
        #expect(fixture.manager.activeCounts.jobs == 200)
        fixture.manager.cancelAll()
        #expect(fixture.outcomes.wait { $0.count == 200 } && fixture.isIdle)
        #expect(fixture.manager.runningTasks.isEmpty)
    }
}
