import Dispatch
import Synchronization
import TestSupport
import Testing
import WebImageTesting

@testable import WebImageCore

@Suite("Reads of bodies that wait for room")
struct BodyReadQueueTests {
    private let queue = WorkQueue(name: "test-reads", threadCount: 2)
    /// Room for 300 bytes of bodies.
    private let budget = MemoryBudget(limit: 1600)
    private let bodies = Bodies()
    private let log = EventLog<String>()

    /// Bodies that have been read.
    private final class Bodies: Sendable {
        private let all = Mutex<[MemoryBudget.Reservation]>([])

        func add(_ body: MemoryBudget.Reservation) { all.withLock { $0.append(body) } }

        func removeAll() {
            let bodies = all.withLock { bodies in
                defer { bodies = [] }
                return bodies
            }
            withExtendedLifetime(bodies) {}
        }
    }

    private func settle(_ queue: WorkQueue) { #expect(EventLog<Int>.poll { queue.pendingCount == 0 }) }

    @Test("Reads wait for room, and go on one at a time, the most urgent one first")
    func order() {
        // With one thread, the order is that of the turns.
        let queue = WorkQueue(name: "test-reads", threadCount: 1)
        let reads = BodyReadQueue(queue, budget: budget)
        var whole: MemoryBudget.Reservation? = budget.holdBody(1000)
        func submit(_ name: String, _ priority: ImagePriority = .normal) -> WorkQueue.Ticket {
            reads.submit(priority: priority) { [budget, bodies, log] in
                bodies.add(budget.holdBody(1000))
                log.add(name)
            }
        }
        for name in ["a", "b"] { _ = submit(name) }
        let late = submit("c")
        _ = submit("urgent", .high)
        let cancelled = submit("d")
        settle(queue)
        #expect(log.all.isEmpty && reads.waitingCount == 5 && whole != nil)
        reads.setPriority(.veryHigh, of: late)
        #expect(reads.cancel(cancelled) && !reads.cancel(cancelled))
        whole = nil
        for names in [["c"], ["c", "urgent"], ["c", "urgent", "a"], ["c", "urgent", "a", "b"]] {
            #expect(log.wait { $0 == names })
            settle(queue)
            #expect(log.all == names)
            bodies.removeAll()
        }
        #expect(reads.waitingCount == 0)
    }

    @Test("A read that hangs keeps no other one waiting")
    func hangingRead() {
        let reads = BodyReadQueue(queue, budget: budget)
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        var whole: MemoryBudget.Reservation? = budget.holdBody(1000)
        reads.submit(priority: .high) { gate.wait() }
        for number in 0..<20 { reads.submit(priority: .normal) { [log] in log.add("\(number)") } }
        settle(queue)
        #expect(log.all.isEmpty && whole != nil)
        whole = nil
        #expect(log.wait { $0.count == 20 })
    }

    @Test("Reads that were cancelled while they waited leave room for the others")
    func cancelled() {
        let reads = BodyReadQueue(queue, budget: budget)
        var whole: MemoryBudget.Reservation? = budget.holdBody(1000)
        let tickets = (0..<100).map { number in
            reads.submit(priority: .normal) { [log] in log.add("\(number)") }
        }
        settle(queue)
        for ticket in tickets.dropLast() { #expect(reads.cancel(ticket)) }
        #expect(whole != nil)
        whole = nil
        #expect(log.wait { $0 == ["99"] })
        settle(queue)
        #expect(queue.pendingCount == 0 && reads.waitingCount == 0)
    }
}
