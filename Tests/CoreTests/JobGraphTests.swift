import Foundation
import TestSupport
import Testing
import WebImageTesting

@testable import WebImageCore

/// The graph of tasks, jobs and fetches as a value: its phases, and the effects of each change.
struct JobGraphTests {
    private let fixture = ManagerFixture(holdsResponses: true)

    private func task(_ name: String, _ width: Int = 10, _ priority: ImagePriority = .normal) -> ImageTask {
        let size = DecodeSize.contain(PixelSize(width: width, height: width))
        let request = ImageRequest(url: fixture.url(name), priority: priority, decodeSize: size)
        return fixture.manager.makeTask(for: request, on: InlineDispatcher(), handlers: LoadHandlers { _ in })
    }

    private func only<ID: Hashable, Value>(_ table: [ID: Value]) -> (id: ID, value: Value) {
        let (id, value) = table.first!
        return (id, value)
    }

    @Test("Tasks for one image join one job, jobs for one URL one fetch, and the fetch starts once")
    func joining() {
        let graph = TestGraph()
        let tasks = [task("a"), task("a"), task("a", 20)]
        #expect(graph.change { $0.join(tasks[0], queriesRenditions: false) }.names == ["lookUpOriginal"])
        #expect(graph.change { $0.join(tasks[1], queriesRenditions: false) }.names == [])
        #expect(graph.change { $0.join(tasks[2], queriesRenditions: false) }.names == [])
        #expect(graph.jobs.count == 2 && graph.fetches.count == 1)
        let fetch = only(graph.fetches)
        guard case .lookingUp(nil) = fetch.value.phase else {
            Issue.record("The fetch is in phase \(fetch.value.phase)")
            return
        }
        #expect(graph.tasks(of: fetch.id).count == 3)
    }

    @Test("A fetch waits until a look-up for a rendition has missed")
    func lookingUp() {
        let graph = TestGraph()
        #expect(graph.change { $0.join(task("a"), queriesRenditions: true) }.names == ["lookUpRendition"])
        let (job, fetch) = (only(graph.jobs).id, only(graph.fetches).id)
        guard case .pending = graph.fetches[fetch]?.phase, graph.jobs[job]?.isLookingUp == true else {
            Issue.record("The fetch has started")
            return
        }
        #expect(graph.change { $0.endLookUp(job, rendition: nil) }.names == ["lookUpOriginal"])
        #expect(graph.jobs[job]?.fetch == fetch && graph.jobs[job]?.isLookingUp == false)
        #expect(graph.change { $0.endLookUp(job, rendition: nil) }.names == [])
    }

    @Test("A rendition makes the fetch unnecessary; a damaged one makes a new fetch")
    func renditions() {
        let graph = TestGraph()
        _ = graph.change { $0.join(task("a"), queriesRenditions: true) }
        let job = only(graph.jobs).id
        let use = graph.change { $0.useRendition(job) }
        #expect(use?.effects.names == [])
        #expect(graph.fetches.isEmpty && graph.jobs[job]?.fetch == nil)
        #expect(graph.change { $0.discardRendition(job) }.names == ["lookUpOriginal"])
        #expect(graph.fetches.count == 1 && graph.jobs[job]?.fetch == only(graph.fetches).id)
    }

    @Test("The last task that leaves ends the job and the fetch, in each phase of the fetch")
    func cancelling() {
        let graph = TestGraph()
        let tasks = [task("a"), task("a", 20)]
        let operation = Operation()
        for task in tasks { _ = graph.change { $0.join(task, queriesRenditions: false) } }
        let fetch = only(graph.fetches).id
        _ = graph.change { $0.beginAttempt(fetch, at: .now) }
        let request = LoaderRequest(url: fixture.url("a"))
        #expect(graph.change { $0.setOperation(operation, of: fetch, attempt: 1, request: request) }.names == [])
        #expect(graph.change { $0.cancel(ObjectIdentifier(tasks[0])) }.names == [])
        #expect(graph.change { $0.cancel(ObjectIdentifier(tasks[1])) }.names == ["abandonLoad"])
        // A task that joins in time keeps the load.
        let late = task("a")
        _ = graph.change { $0.join(late, queriesRenditions: false) }
        #expect(graph.change { $0.takeAbandonedFetch(fetch, unlessStored: false) } == nil)
        #expect(graph.change { $0.cancel(ObjectIdentifier(late)) }.names == ["abandonLoad"])
        #expect(graph.change { $0.takeAbandonedFetch(fetch, unlessStored: true) } == nil)
        #expect(graph.change { $0.takeAbandonedFetch(fetch, unlessStored: false) } != nil)
        #expect(graph.jobs.isEmpty && graph.fetches.isEmpty)
        // An operation that the loader returns too late is cancelled.
        #expect(
            graph.change { $0.setOperation(operation, of: fetch, attempt: 1, request: request) }.names == ["cancelLoad"]
        )
    }

    @Test("A fetch has the highest priority of those who wait, and its operation hears of changes")
    func priorities() {
        let graph = TestGraph()
        let (low, high) = (task("a", 10, .low), task("a", 20, .high))
        _ = graph.change { $0.join(low, queriesRenditions: false) }
        let fetch = only(graph.fetches).id
        _ = graph.change { $0.beginAttempt(fetch, at: .now) }
        let request = LoaderRequest(url: fixture.url("a"), priority: .low)
        _ = graph.change { $0.setOperation(Operation(), of: fetch, attempt: 1, request: request) }
        #expect(graph.change { $0.join(high, queriesRenditions: false) }.names == ["prioritizeLoad"])
        #expect(graph.fetches[fetch]?.priority == .high)
        #expect(graph.change { $0.cancel(ObjectIdentifier(high)) }.names == ["prioritizeLoad"])
        #expect(graph.fetches[fetch]?.priority == .low)
    }

    @Test("A backoff ends once, whether by the clock or by the network")
    func backoff() {
        let graph = TestGraph()
        _ = graph.change { $0.join(task("a"), queriesRenditions: false) }
        let fetch = only(graph.fetches).id
        #expect(graph.change { $0.beginAttempt(fetch, at: .now) }?.fetch.attemptCount == 1)
        graph.change { $0.beginBackoff(fetch, after: .offline(fixture.url("a")), at: .now) }
        #expect(graph.fetches[fetch]?.hasWaitedForNetwork == true)
        #expect(graph.change { $0.endAllBackoffs() }.names == ["load"])
        #expect(graph.change { $0.endBackoff(fetch, afterAttempt: 1) }.names == [])
        #expect(graph.change { $0.beginAttempt(fetch, at: .now) }?.fetch.attemptCount == 2)
        graph.change { $0.beginBackoff(fetch, after: .cancelled(nil), at: .now) }
        #expect(graph.change { $0.endBackoff(fetch, afterAttempt: 1) }.names == [])
        #expect(graph.change { $0.endBackoff(fetch, afterAttempt: 2) }.names == ["load"])
    }

    @Test("A fetch that fails leaves alone the jobs whose look-up is not over")
    func failing() {
        let graph = TestGraph()
        let (waiting, lookingUp) = (task("a"), task("a", 20))
        _ = graph.change { $0.join(waiting, queriesRenditions: false) }
        _ = graph.change { $0.join(lookingUp, queriesRenditions: true) }
        let fetch = only(graph.fetches).id
        let failed = graph.change { $0.failFetch(fetch) }
        #expect(failed.count == 1 && failed.first === waiting)
        let job = only(graph.jobs)
        #expect(job.value.tasks.first === lookingUp && job.value.isLookingUp)
        #expect(
            job.value.fetch != fetch
                && graph.change { $0.endLookUp(job.id, rendition: nil) }.names == ["lookUpOriginal"]
        )
    }

    @Test("Bytes that arrive while the stale image is decoded are left to its thread")
    func staleImages() {
        let graph = TestGraph()
        let request = ImageRequest(url: fixture.url("a"), cachePolicy: .refresh)
        let task: ImageTask = fixture.manager.makeTask(
            for: request,
            on: InlineDispatcher(),
            handlers: .init(partial: { _ in }, completion: { _ in })
        )
        _ = graph.change { $0.join(task, queriesRenditions: false) }
        let (job, fetch) = (only(graph.jobs).id, only(graph.fetches).id)
        graph.change { $0.validate(CacheEntry(key: "a", data: Data([1]), storedAt: .now), in: fetch) }
        #expect(graph.change { $0.beginStaleImages(of: fetch) }.map(\.id) == [job])
        #expect(graph.change { $0.beginStaleImages(of: fetch) }.isEmpty)
        let data = FetchedData(loaded: LoaderResult(data: Data([2])), origin: .loader)
        #expect(graph.change { $0.finishFetch(fetch) }.map(\.id) == [job])
        #expect(graph.change { $0.handOver(data, to: job) })
        #expect(graph.change { $0.endStaleImage(nil, of: job) }?.loaded.data == Data([2]))
        #expect(!graph.change { $0.handOver(data, to: job) })
        #expect(graph.change { $0.finishJob(job) }.count == 1 && graph.jobs.isEmpty)
    }

    @Test("A stale image that is not needed any more is not decoded, whatever has come in its place")
    func replacedStaleImages() {
        let request = ImageRequest(url: fixture.url("a"), cachePolicy: .refresh)
        let entry = CacheEntry(key: "a", data: Data([1]), storedAt: .now)
        /// What ends the decode of the stale image that waits.
        func effects(_ change: (inout JobGraph, JobGraph.Job.ID, JobGraph.Fetch.ID) -> Void) -> [String] {
            let graph = TestGraph()
            let task: ImageTask = fixture.manager.makeTask(
                for: request,
                on: InlineDispatcher(),
                handlers: .init(partial: { _ in }, completion: { _ in })
            )
            _ = graph.change { $0.join(task, queriesRenditions: true) }
            let (job, fetch) = (only(graph.jobs).id, only(graph.fetches).id)
            graph.change { $0.validate(entry, in: fetch) }
            #expect(graph.change { $0.beginStaleImages(of: fetch) }.map(\.id) == [job])
            let ticket = WorkQueue(name: "test", threadCount: 1).submit {}
            _ = graph.change { $0.setDecodeTicket(ticket, of: job, making: .staleImage) }
            #expect(graph.change { $0.takeEndings() }.isEmpty)
            graph.change { change(&$0, job, fetch) }
            #expect(graph.jobs[job]?.tickets.isEmpty != false)
            return graph.change { $0.takeEndings() }.names
        }
        #expect(effects { graph, job, _ in _ = graph.useRendition(job) } == ["cancel"])
        #expect(effects { graph, job, _ in _ = graph.endLookUp(job, rendition: entry) } == ["cancel"])
        #expect(effects { graph, _, fetch in graph.validate(entry, in: fetch) } == ["cancel"])
        #expect(effects { graph, _, fetch in _ = graph.failFetch(fetch) } == ["cancel"])
        // A job that still reads its rendition loses both.
        let all = effects { graph, job, _ in
            let ticket = WorkQueue(name: "test", threadCount: 1).submit {}
            _ = graph.setReadTicket(ticket, of: .rendition(job))
            #expect(graph.jobs[job]?.tickets.count == 2)
            let task = graph.jobs[job]?.tasks.first
            #expect(task.map { graph.cancel(ObjectIdentifier($0)).names } == ["cancel", "cancel"])
        }
        #expect(all == [])
    }

    @Test("A stale image is loaded again once when the first job shows it, and at once where none does")
    func refreshing() {
        let graph = TestGraph()
        let tasks = [task("a"), task("a", 20), task("a", 30)]
        #expect(graph.change { $0.refresh(tasks[0].request, after: []) }.names == ["refresh"])
        for task in tasks { _ = graph.change { $0.join(task, queriesRenditions: false) } }
        #expect(graph.change { $0.refresh(tasks[0].request, after: Array($0.jobs.keys)) }.names == [])
        // A load that is cancelled is not repeated
        graph.change { _ = $0.cancel(ObjectIdentifier(tasks[0])) }
        #expect(graph.change { $0.takeEndings() }.names == [])
        for names in [["refresh"], []] {
            graph.change { graph in _ = graph.finishJob(graph.jobs.keys.first!) }
            #expect(graph.change { $0.takeEndings() }.names == names)
        }
    }

    @Test("The ticket of a job is that of what it does last, whichever thread says so first")
    func decodeTickets() {
        let graph = TestGraph()
        let task = task("a")
        _ = graph.change { $0.join(task, queriesRenditions: false) }
        let (job, fetch) = (only(graph.jobs).id, only(graph.fetches).id)
        _ = graph.change { $0.finishFetch(fetch) }
        let budget = MemoryBudget(limit: 1600)
        let tickets = (0..<3).map { _ in budget.makeTicket() }
        // The work waits for memory before the thread that has submitted it has kept its ticket.
        #expect(graph.change { $0.setDecodeTicket(tickets[1], of: job, making: .image) } == .normal)
        _ = graph.change { $0.setDecodeTicket(tickets[0], of: job, making: .image, where: { $0 == nil }) }
        #expect(graph.jobs[job]?.tickets == [tickets[1]])
        _ = graph.change { $0.setDecodeTicket(tickets[2], of: job, making: .image, where: { $0 == tickets[1] }) }
        #expect(graph.jobs[job]?.tickets == [tickets[2]])
        // A job that is gone has no priority.
        _ = graph.change { $0.cancel(ObjectIdentifier(task)) }
        #expect(graph.change { $0.setDecodeTicket(tickets[2], of: job, making: .image) } == nil)
    }

    @Test("A stale image that is not wanted any more takes no ticket from the image that has come in its place")
    func ticketsOfEndedStaleImages() {
        // Given a stale image on its thread, and the bytes of the image
        let request = ImageRequest(url: fixture.url("a"), cachePolicy: .refresh)
        let graph = TestGraph()
        let task: ImageTask = fixture.manager.makeTask(
            for: request,
            on: InlineDispatcher(),
            handlers: .init(partial: { _ in }, completion: { _ in })
        )
        _ = graph.change { $0.join(task, queriesRenditions: false) }
        let (job, fetch) = (only(graph.jobs).id, only(graph.fetches).id)
        let entry = CacheEntry(key: "a", data: Data([1]), storedAt: .now)
        graph.change { $0.validate(entry, in: fetch) }
        #expect(graph.change { $0.beginStaleImages(of: fetch) }.map(\.id) == [job])
        graph.change { $0.validate(entry, in: fetch) }
        _ = graph.change { $0.finishFetch(fetch) }
        let budget = MemoryBudget(limit: 1600)
        let tickets = (0..<2).map { _ in budget.makeTicket() }
        // When it asks for memory before the image has a ticket, and after that
        #expect(graph.change { $0.setDecodeTicket(tickets[0], of: job, making: .staleImage) } == nil)
        #expect(graph.jobs[job]?.tickets.isEmpty == true)
        #expect(
            graph.change { $0.setDecodeTicket(tickets[1], of: job, making: .image, where: { $0 == nil }) } == .normal
        )
        #expect(graph.change { $0.setDecodeTicket(tickets[0], of: job, making: .staleImage) } == nil)
        // Then the image is cancelled with its own
        #expect(graph.jobs[job]?.tickets == [tickets[1]])
    }
}

/// A graph that expectations can change: the macro does not let them call mutating methods.
@dynamicMemberLookup
private final class TestGraph {
    private var graph = JobGraph()

    func change<R>(_ body: (inout JobGraph) -> R) -> R { body(&graph) }

    subscript<R>(dynamicMember path: KeyPath<JobGraph, R>) -> R { graph[keyPath: path] }

    func tasks(of fetch: JobGraph.Fetch.ID) -> [ImageTask] { graph.tasks(of: fetch) }
}

private struct Operation: FetchOperation {
    func cancel() {}
    func setPriority(_ priority: ImagePriority) {}
    func startStreaming() {}
}

extension [JobGraph.Effect] {
    /// The names of the cases, without what they carry.
    fileprivate var names: [String] { map { String("\($0)".prefix { $0 != "(" }) } }
}
