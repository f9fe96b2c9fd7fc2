import FoundationEssentials
import Synchronization
import TestSupport
import Testing

@testable import WebImageCore

/// The memory of decodes without decodes: who gets it, and when.
@Suite("The order in which decodes get memory")
struct DecodeAdmissionTests {
    /// Decodes may take 1000 bytes of it.
    private let budget = MemoryBudget(limit: 1600)

    /// Has a decode wait that keeps its memory until the list is cleared.
    @discardableResult
    private func wait(
        _ name: String,
        _ byteCount: Int,
        priority: ImagePriority = .normal,
        isSlow: Bool = false,
        _ decodes: Decodes
    ) -> WorkQueue.Ticket {
        let ticket = budget.makeTicket()
        budget.waitForDecoding(byteCount, ticket: ticket, priority: priority, isSlow: isSlow) {
            decodes.begin(name, $0)
        }
        return ticket
    }

    /// The decodes that have begun.
    private final class Decodes: Sendable {
        private let state = Mutex((names: [String](), running: [String: MemoryBudget.Reservation]()))

        var names: [String] { state.withLock { $0.names } }

        func begin(_ name: String, _ reservation: MemoryBudget.Reservation) {
            state.withLock { state in
                state.names.append(name)
                state.running[name] = reservation
            }
        }

        /// The memory is given back with the lock free, since others begin then.
        func end(_ name: String) {
            let ended = state.withLock { $0.running.removeValue(forKey: name) }
            withExtendedLifetime(ended) {}
        }
    }

    @Test("A decode that needs more than there is lets eight others pass, and then they wait for it")
    func overtaking() {
        let decodes = Decodes()
        let first = budget.takeForDecoding(500)
        #expect(first != nil && budget.used.decoding == 500)
        wait("large", 900, decodes)
        for number in 0..<20 {
            wait("\(number)", 100, decodes)
            decodes.end("\(number)")
        }
        #expect(decodes.names == (0..<8).map { "\($0)" } && budget.waitingCount == 13)
        first?.shrink(to: 50)
        #expect(decodes.names.last == "large" && budget.used.decoding == 950)
        decodes.end("large")
        // Nine of a hundred bytes fit beside the fifty.
        #expect(decodes.names.count == 18 && budget.used.decoding == 950)
        withExtendedLifetime(first) {}
    }

    @Test("Memory goes to the highest priority that waits, and a change of priority counts")
    func priorities() {
        let decodes = Decodes()
        let first = budget.takeForDecoding(1000)
        wait("low", 400, priority: .low, decodes)
        wait("normal", 400, decodes)
        let raised = wait("raised", 400, priority: .veryLow, decodes)
        wait("high", 400, priority: .high, decodes)
        budget.setPriority(.veryHigh, of: raised)
        first?.shrink(to: 0)
        #expect(decodes.names == ["raised", "high"])
        decodes.end("high")
        #expect(decodes.names == ["raised", "high", "normal"])
        decodes.end("raised")
        #expect(decodes.names.last == "low")
        for name in ["normal", "low"] { decodes.end(name) }
        #expect(budget.used.decoding == 0)
    }

    @Test("Small decodes of a lower priority pass a large one of a high priority, too, but not for ever")
    func priorityOfLarge() {
        let decodes = Decodes()
        let first = budget.takeForDecoding(500)
        wait("large", 900, priority: .high, decodes)
        for number in 0..<20 {
            wait("\(number)", 100, priority: .low, decodes)
            decodes.end("\(number)")
        }
        #expect(decodes.names == (0..<8).map { "\($0)" } && budget.waitingCount == 13)
        first?.shrink(to: 0)
        #expect(decodes.names.last == "8" && decodes.names.contains("large") && decodes.names.count == 10)
        withExtendedLifetime(first) {}
    }

    @Test("A decode finds memory at once while slow ones wait, but does not keep them waiting for ever")
    func takingBesideSlowDecodes() {
        let decodes = Decodes()
        // Given a slow decode that waits for another slow one
        wait("slow", 400, isSlow: true, decodes)
        wait("second slow", 400, isSlow: true, decodes)
        // Then others need not wait at all, however many they are
        for _ in 0..<20 { #expect(budget.takeForDecoding(100) != nil) }
        #expect(budget.takeForDecoding(100, isSlow: true) == nil)
        // Given one that waits for those that are quick
        let first = budget.takeForDecoding(500)
        decodes.end("slow")
        let second = budget.takeForDecoding(100)
        decodes.end("second slow")
        wait("third slow", 450, isSlow: true, decodes)
        #expect(decodes.names == ["slow", "second slow"])
        // Then eight pass it
        for _ in 0..<8 { #expect(budget.takeForDecoding(50) != nil) }
        #expect(budget.takeForDecoding(50) == nil)
        // And it is next.
        second?.shrink(to: 0)
        #expect(decodes.names.last == "third slow")
        withExtendedLifetime((first, second)) {}
    }

    @Test("Slow decodes share half of the memory, and hold nobody else back")
    func slowDecodes() {
        let decodes = Decodes()
        wait("slow", 400, isSlow: true, decodes)
        wait("second slow", 400, isSlow: true, decodes)
        #expect(decodes.names == ["slow"])
        // Neither a slow one that waits, nor a large one that waits for a slow one, keeps others from their memory.
        wait("large", 900, decodes)
        for number in 0..<30 {
            wait("\(number)", 100, decodes)
            decodes.end("\(number)")
        }
        #expect(decodes.names.count == 31)
        // But the large one comes before slow ones that came later.
        wait("third slow", 400, isSlow: true, decodes)
        decodes.end("slow")
        #expect(decodes.names.last == "second slow" && budget.waitingCount == 2)
        decodes.end("second slow")
        #expect(decodes.names.last == "large")
        decodes.end("large")
        #expect(decodes.names.last == "third slow")
    }

    @Test("However many slow decodes wait, a decode that is not slow gets the memory that is there")
    func manySlowDecodes() {
        let decodes = Decodes()
        let first = budget.takeForDecoding(1000)
        for number in 0..<100 { wait("slow \(number)", 400, isSlow: true, decodes) }
        wait("quick", 100, decodes)
        #expect(decodes.names.isEmpty)
        first?.shrink(to: 500)
        #expect(decodes.names == ["slow 0", "quick"])
        withExtendedLifetime(first) {}
    }

    @Test("A decode that nobody waits for stops waiting, and lets the next one pass")
    func cancellation() {
        let decodes = Decodes()
        let first = budget.takeForDecoding(600)
        let ticket = wait("large", 900, decodes)
        for number in 0..<8 {
            wait("\(number)", 100, decodes)
            decodes.end("\(number)")
        }
        wait("last", 100, decodes)
        #expect(budget.waitingCount == 2)
        budget.cancel(ticket)
        #expect(decodes.names.last == "last" && budget.waitingCount == 0)
        withExtendedLifetime(first) {}
    }
}
