import Dispatch
import Foundation
import TestSupport
import Testing
import WebImageTesting

@testable import WebImageCore

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
        // An image in memory would hide a second transfer.
        var request = ImageRequest(url: fixture.url(name), priority: priority)
        request.decodeSize = decodeSize
        request.cacheAccess.writes.remove(.memory)
        return fixture.manager.load(request, on: InlineDispatcher()) { fixture.outcomes.add(.init($0)) }
    }

    @Test("A load that is more urgent overtakes all that wait, and one that has become so does, too")
    func priority() {
        let fixture = fixture()
        gate.signal()
        // Given loads that wait
        fixture.manager.isSuspended = true
        let tasks = (0..<enough + 20).map { load(fixture, "\($0)") }
        fixture.settle()
        // When one becomes more urgent, and another one comes
        tasks[enough + 19].priority = .high
        load(fixture, "urgent", .veryHigh)
        fixture.settle()
        fixture.manager.isSuspended = false
        #expect(EventLog<Int>.poll { fixture.loader.started.count == enough + 21 })
        // Then they enter first
        let names = fixture.loader.started.map(\.lastPathComponent)
        #expect(names.prefix(2) == ["urgent", "\(enough + 19)"])
        #expect(names[2...] == (0..<enough + 19).map { "\($0)" }[...])
        fixture.manager.cancelAll()
        #expect(fixture.isIdle)
    }

    @Test("The end of a suspension does not overtake the changes before it")
    func resumption() {
        let fixture = fixture()
        // Given loads and changes of which the graph does not know yet
        fixture.manager.isSuspended = true
        let tasks = (0..<enough + 20).map { load(fixture, "\($0)") }
        tasks[0].priority = .veryLow
        tasks[enough + 19].priority = .veryHigh
        // When the suspension ends
        fixture.manager.isSuspended = false
        #expect(!fixture.manager.isSuspended)
        gate.signal()
        #expect(EventLog<Int>.poll { fixture.loader.started.count == enough + 20 })
        // Then the most urgent load is the first, and the least urgent one the last
        let names = fixture.loader.started.map(\.lastPathComponent)
        #expect(names == ["\(enough + 19)"] + (1..<enough + 19).map { "\($0)" } + ["0"])
        fixture.manager.cancelAll()
        #expect(fixture.isIdle)
    }

    @Test("Of loads that enter together, the later stages know which was asked for first", arguments: [false, true])
    func ages(newestFirst: Bool) {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false) {
            $0.intakeQueue = queue
            $0.admitsNewestFirst = newestFirst
        }
        // Given loads that wait
        fixture.manager.isSuspended = true
        for number in 0..<enough { load(fixture, "\(number)") }
        fixture.settle()
        // When they enter
        fixture.manager.isSuspended = false
        #expect(EventLog<Int>.poll { fixture.loader.requests.count == enough })
        // Then they do so in their order, and the first has the smallest age wherever it goes
        let requests = fixture.loader.requests
        let names = requests.map { Int($0.url.lastPathComponent) ?? -1 }
        #expect(names == (newestFirst ? Array((0..<enough).reversed()) : Array(0..<enough)))
        let ages = requests.map(\.age)
        #expect(ages == (newestFirst ? ages.sorted(by: >) : ages.sorted()))
        fixture.manager.cancelAll()
        #expect(fixture.isIdle)
    }

    @Test("A load that is more urgent than all that are under way does not wait for them")
    func urgent() {
        let fixture = fixture()
        for number in 0..<enough { load(fixture, "\(number)", .low) }
        load(fixture, "next", .low)
        load(fixture, "urgent", .high)
        gate.signal()
        #expect(EventLog<Int>.poll { fixture.loader.started.count == enough + 2 })
        #expect(fixture.loader.started.suffix(2) == [fixture.url("urgent"), fixture.url("next")])
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

    @Test("Loads that wait share the fetch of their image, in whatever order they came", arguments: [false, true])
    func sharedFetches(loadsBytes: Bool) {
        let fixture = fixture()
        // Given an image that is wanted at two sizes, maybe also its bytes, with hundreds of loads in between
        for number in 0..<enough { load(fixture, "\(number)") }
        load(fixture, "shared")
        for number in 0..<300 { load(fixture, "waiting\(number)") }
        load(fixture, "shared", decodeSize: .cover(PixelSize(width: 4, height: 3)))
        let bytes =
            loadsBytes ? fixture.manager.loadData(fixture.url("shared"), on: InlineDispatcher()) { _ in } : nil
        // When the first of them has entered, and its transfer ends at once
        gate.signal()
        #expect(EventLog<Int>.poll { fixture.loader.started.contains(fixture.url("shared")) })
        fixture.settle()
        fixture.loader.finish(fixture.url("shared"))
        // Then the others have entered with it, and nothing is loaded twice.
        #expect(fixture.outcomes.wait { $0.count == 2 } && EventLog<Int>.poll { bytes?.isFinished ?? true })
        #expect(EventLog<Int>.poll { fixture.loader.started.count == enough + 301 })
        #expect(Set(fixture.loader.started).count == enough + 301)
        fixture.manager.cancelAll()
        #expect(fixture.isIdle)
    }

    @Test("A load that is cancelled while it waits never starts, and its twin does")
    func cancelled() {
        let fixture = fixture()
        gate.signal()
        fixture.manager.isSuspended = true
        for number in 0..<enough { load(fixture, "\(number)") }
        let waiting = (0..<40).map { load(fixture, "waiting\($0)") }
        let twin = load(fixture, "waiting0")
        fixture.settle()
        for task in waiting { task.cancel() }
        fixture.settle()
        #expect(fixture.manager.runningTasks.count == enough + 1)
        fixture.manager.isSuspended = false
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
        fixture.manager.isSuspended = true
        gate.signal()
        fixture.settle()
        #expect(Set(fixture.manager.runningTasks.map(ObjectIdentifier.init)) == Set(tasks.map(ObjectIdentifier.init)))
        #expect(fixture.manager.activeCounts.jobs == 200)
        fixture.manager.cancelAll()
        #expect(fixture.outcomes.wait { $0.count == 200 } && fixture.isIdle)
        #expect(fixture.manager.runningTasks.isEmpty)
    }
}
