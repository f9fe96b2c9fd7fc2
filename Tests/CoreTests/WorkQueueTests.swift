import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("The work queue")
struct WorkQueueTests {
    /// Keeps a queue with one thread busy until it is opened.
    private func block(_ queue: WorkQueue) -> DispatchSemaphore {
        let gate = DispatchSemaphore(value: 0)
        let started = DispatchSemaphore(value: 0)
        queue.submit {
            started.signal()
            gate.wait()
        }
        started.wait()
        return gate
    }

    @Test("Higher priorities run first; within a priority the oldest work runs first")
    func order() {
        let queue = WorkQueue(name: "test", threadCount: 1)
        let log = EventLog<String>()
        let gate = block(queue)
        for (name, priority) in [
            ("n1", ImagePriority.normal), ("l1", .low), ("h1", .high), ("n2", .normal), ("h2", .high),
        ] {
            queue.submit(priority: priority) { log.add(name) }
        }
        gate.signal()
        log.wait { $0.count == 5 }
        #expect(log.all == ["h1", "h2", "n1", "n2", "l1"])
    }

    @Test("A change of priority moves work, and cancelled work never runs")
    func moveAndCancel() {
        let queue = WorkQueue(name: "test", threadCount: 1)
        let log = EventLog<String>()
        let gate = block(queue)
        let tickets = ["a", "b", "c", "d"].map { name in queue.submit { log.add(name) } }
        queue.setPriority(.veryHigh, of: tickets[3])
        queue.setPriority(.veryLow, of: tickets[0])
        #expect(queue.cancel(tickets[1]))
        #expect(!queue.cancel(tickets[1]))
        gate.signal()
        log.wait { $0.count == 3 }
        #expect(log.all == ["d", "c", "a"])
    }

    @Test(
        "Where the system starts no thread, loads fail with an error that says so, until it does",
        arguments: [false, true]
    )
    func noThread(isFile: Bool) async throws {
        let permits = EventLog<Int>()
        let fixture = ManagerFixture { dependencies in
            let queue = WorkQueue(name: "test", threadCount: 2) { body in
                permits.all.isEmpty ? EAGAIN : startDetachedThread(body)
            }
            if isFile {
                dependencies.loaders.add(LocalLoader.files(queue: queue, maximumByteCount: 1 << 20))
            } else {
                dependencies.decodeQueue = queue
            }
        }
        let folder = TemporaryDirectory()
        let url = isFile ? URL(filePath: "\(folder.path)/a") : fixture.url("a")
        let image = TestImage.solid(0xFF0000, size: PixelSize(width: 10, height: 10))
        if isFile { try image.write(to: url) }
        fixture.loader.answer(url, with: image)
        for _ in 0..<2 {
            let error = await #expect(throws: ImageError.self) { try await fixture.manager.image(for: url) }
            #expect(error?.code == .decoderUnavailable && error?.url == url && error?.isRemembered == false)
            #expect(error?.remedy.contains("ulimit -u") == true)
        }
        permits.add(0)
        _ = try await fixture.manager.image(for: url)
    }

    @Test("No more work runs at a time than there are threads")
    func bounded() {
        let queue = WorkQueue(name: "test", threadCount: 3)
        let running = Mutex((now: 0, most: 0))
        let log = EventLog<Int>()
        for number in 0..<200 {
            queue.submit {
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

    @Test("Threads start with the work that needs them, up to the limit, and end when there is none for long")
    func lazyThreads() {
        /// The threads with the name of the queue.
        func threadCount() -> Int {
            let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
            return tasks.count { task in
                (try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)) == "test-lazy\n"
            }
        }
        let queue = WorkQueue(name: "test-lazy", threadCount: 3, idleTime: .milliseconds(20))
        #expect(threadCount() == 0)
        let log = EventLog<Int>()
        for count in 1...3 {
            let gates = (0..<count).map { _ in block(queue) }
            #expect(threadCount() == count)
            for number in 0..<5 { queue.submit { log.add(number) } }
            #expect(threadCount() <= 3)
            for gate in gates { gate.signal() }
            #expect(log.wait { $0.count == 5 * count })
            #expect(EventLog<Int>.poll { threadCount() == 0 })
        }
    }

    @Test("A timer neither waits for one that is due later, nor for the work of another")
    func timers() {
        let log = EventLog<String>()
        let gate = DispatchSemaphore(value: 0)
        SystemClock().run(after: .seconds(3600)) { log.add("an hour") }
        SystemClock().run(after: .zero) {
            log.add("at once")
            gate.wait()
        }
        #expect(log.wait { $0 == ["at once"] })
        SystemClock().run(after: .milliseconds(1)) { log.add("soon") }
        #expect(log.wait { $0 == ["at once", "soon"] })
        gate.signal()
    }

    @Test("Submitted work still runs when the queue is released; then its threads end")
    func dropped() {
        let log = EventLog<Int>()
        var queue: WorkQueue? = WorkQueue(name: "test", threadCount: 2)
        for number in 0..<50 { queue?.submit { log.add(number) } }
        queue = nil
        #expect(log.wait { $0.count == 50 })
    }
}
