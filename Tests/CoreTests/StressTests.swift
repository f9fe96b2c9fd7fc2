import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageTesting

@testable import WebImageCore

@Suite("Many loads at once")
struct StressTests {
    /// Says that JPEG is slow.
    private struct SlowCoder: ExtendedDecoding {
        private let coder = CountingCoder()

        func canDecode(_ format: ImageFormat) -> Bool { coder.canDecode(format) }

        func isSlow(_ format: ImageFormat) -> Bool { format == .jpeg }

        func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
            try coder.decode(data, options: options)
        }
    }

    @Test(
        "5,000 loads of all kinds from 8 threads each complete exactly once and leave no work behind, with much memory and little",
        arguments: [1 << 30, 40 * 30 * 4 * 3 / 2 * 16 / 10 + 32]
    )
    func everything(memory: Int) {
        let size = PixelSize(width: 40, height: 30)
        let budget = MemoryBudget(limit: memory)
        let fixture = ManagerFixture { dependencies in
            dependencies.budget = budget
            dependencies.coders = CoderRegistry([SlowCoder()])
            dependencies.slowQueue = WorkQueue(name: "test-slow", threadCount: 1)
        }
        for index in 0..<60 {
            // Every seventh image is missing, every eleventh is no image.
            if index % 7 == 0 { continue }
            let data =
                index % 11 == 0
                ? Data("no image".utf8)
                : TestImage.solid(UInt32(index), size: size, format: index % 5 == 0 ? .jpeg : .png)
            fixture.loader.answer(fixture.url("\(index)"), with: data)
        }
        let loads = 5000
        let ends = Mutex([Int](repeating: 0, count: loads))
        let wrong = EventLog<String>()
        let done = DispatchGroup()
        for _ in 0..<loads { done.enter() }
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            var generator = SeededGenerator(seed: UInt64(thread))
            for index in stride(from: thread, to: loads, by: 8) {
                let number = Int.random(in: 0..<60, using: &generator)
                var request = ImageRequest(url: fixture.url("\(number)"))
                request.priority = [.veryLow, .normal, .high].randomElement(using: &generator)!
                if Bool.random(using: &generator) { request.decodeSize = .contain(PixelSize(width: 10, height: 10)) }
                if Int.random(in: 0..<4, using: &generator) == 0 { request.transformer = .grayscale + .rounded(3) }
                if Int.random(in: 0..<9, using: &generator) == 0 { request.cachePolicy = .refresh }
                if Int.random(in: 0..<9, using: &generator) == 0 { request.fallbackURLs = [fixture.url("1")] }
                if Int.random(in: 0..<50, using: &generator) == 0 { fixture.manager.cache.removeAllFromMemory() }
                let isSound = number % 7 != 0 && number % 11 != 0 || !request.fallbackURLs.isEmpty
                // Not the fixture's load, which waits until the task has joined its job
                let task = fixture.manager.load(request, on: InlineDispatcher()) { result in
                    ends.withLock { $0[index] += 1 }
                    switch result {
                    case .success where !isSound: wrong.add("\(number) is an image")
                    case .failure(let error) where isSound && !error.isCancelled: wrong.add("\(error)")
                    default: break
                    }
                    done.leave()
                }
                if Int.random(in: 0..<3, using: &generator) == 0 { task.priority = .veryHigh }
                if Int.random(in: 0..<4, using: &generator) == 0 { task.cancel() }
            }
        }
        #expect(done.wait(timeout: .now() + 120) == .success)
        #expect(ends.withLock { $0.allSatisfy { $0 == 1 } })
        #expect(wrong.all.isEmpty, "\(wrong.all.prefix(3))")
        #expect(EventLog<Int>.poll { fixture.isQuiet })
        #expect(EventLog<Int>.poll { budget.used == (0, 0, 0) && budget.arrivingByteCount == 0 })
        #expect(budget.waitingCount == 0 && budget.lastingWaiterCount == 0)
    }

    @Test("All bytes so far are shown whenever a transfer pauses, 500 times in a row")
    func pauses() {
        // Given transfers that send a few more bytes when the next partial image is due
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false) { $0.clock = SystemClock() }
        for number in 0..<500 {
            let url = fixture.url("\(number)")
            fixture.loader.answer(url, with: Data(count: 608))
            let partials = EventLog<Int>()
            var request = ImageRequest(url: url, loading: .progressive)
            request.decoder = ByteCountingCoder()
            request.progressiveOptions.interval = .microseconds(50)
            let task = fixture.load(request, partial: { partials.add($0.pixelSize.width) }) { _ in }
            fixture.loader.send(Data(count: 600), for: url)
            for _ in 0..<(number % 50) { sched_yield() }
            fixture.loader.send(Data(count: 4), for: url)
            for _ in 0..<(number % 17) { sched_yield() }
            // When the transfer pauses after its last bytes
            fixture.loader.send(Data(count: 4), for: url)
            // Then they are shown
            let isShown = partials.wait { $0.last == 608 }
            #expect(isShown, "number \(number): \(partials.all)")
            task.cancel()
            if !isShown { break }
        }
    }

    @Test("10,000 loads that are cancelled at once leave no work behind")
    func cancelStorm() {
        let fixture = ManagerFixture(holdsResponses: true)
        let ends = Atomic(0)
        for index in 0..<10_000 {
            let request = ImageRequest(url: fixture.url("\(index % 500)"))
            fixture.manager.load(request, on: InlineDispatcher()) { _ in ends.add(1, ordering: .relaxed) }.cancel()
        }
        #expect(EventLog<Int>.poll { ends.load(ordering: .relaxed) == 10_000 && fixture.isIdle })
    }
}
