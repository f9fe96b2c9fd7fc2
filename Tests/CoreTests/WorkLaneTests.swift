import Dispatch
import Synchronization
import Testing
import WebImageCore
import WebImageTesting

@Suite("A lane of bounded threads")
struct WorkLaneTests {
    /// Keeps a lane of one thread busy until it is opened.
    private func block(_ lane: WorkLane) -> DispatchSemaphore {
        let gate = DispatchSemaphore(value: 0)
        let started = DispatchSemaphore(value: 0)
        lane.submit {
            started.signal()
            gate.wait()
        }
        started.wait()
        return gate
    }

    @Test("Urgent work goes first; within a priority, first come first served")
    func order() {
        let lane = WorkLane(name: "test", threadCount: 1)
        let log = EventLog<String>()
        let gate = block(lane)
        for (name, priority) in [
            ("n1", ImagePriority.normal), ("l1", .low), ("h1", .high), ("n2", .normal), ("h2", .high),
        ] {
            lane.submit(priority: priority) { log.add(name) }
        }
        gate.signal()
        log.wait { $0.count == 5 }
        #expect(log.all == ["h1", "h2", "n1", "n2", "l1"])
    }

    @Test("Work whose priority changes is moved; cancelled work never runs")
    func moveAndCancel() {
        let lane = WorkLane(name: "test", threadCount: 1)
        let log = EventLog<String>()
        let gate = block(lane)
        let tickets = ["a", "b", "c", "d"].map { name in lane.submit { log.add(name) } }
        lane.setPriority(.veryHigh, of: tickets[3])
        lane.setPriority(.veryLow, of: tickets[0])
        #expect(lane.cancel(tickets[1]))
        #expect(!lane.cancel(tickets[1]))
        gate.signal()
        log.wait { $0.count == 3 }
        #expect(log.all == ["d", "c", "a"])
    }

    @Test("Never more work at a time than threads")
    func bounded() {
        let lane = WorkLane(name: "test", threadCount: 3)
        let running = Mutex((now: 0, most: 0))
        let log = EventLog<Int>()
        for number in 0..<200 {
            lane.submit {
                running.withLock { state in
                    state.now += 1
                    state.most = max(state.most, state.now)
                }
                running.withLock { $0.now -= 1 }
                log.add(number)
            }
        }
        #expect(log.wait { $0.count == 200 })
        #expect(running.withLock { $0.most } <= 3)
    }

    @Test("Work that was submitted runs although the lane is dropped; then its threads end")
    func dropped() {
        let log = EventLog<Int>()
        var lane: WorkLane? = WorkLane(name: "test", threadCount: 2)
        for number in 0..<50 { lane?.submit { log.add(number) } }
        lane = nil
        #expect(log.wait { $0.count == 50 })
    }
}
