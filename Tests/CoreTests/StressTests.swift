import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Many loads at a time")
struct StressTests {
    @Test("5,000 loads from 8 threads, of all kinds: each ends exactly once, and nothing is left")
    func everything() {
        let fixture = ManagerFixture()
        let size = PixelSize(width: 40, height: 30)
        for index in 0..<60 {
            // Every seventh is not there, every eleventh is no image.
            if index % 7 == 0 { continue }
            let data = index % 11 == 0 ? Data("no image".utf8) : TestImage.solid(UInt32(index), size: size)
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
                let task = fixture.load(request) { result in
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
        #expect(done.wait(timeout: .now() + 60) == .success)
        #expect(ends.withLock { $0.allSatisfy { $0 == 1 } })
        #expect(wrong.all.isEmpty, "\(wrong.all.prefix(3))")
        #expect(EventLog<Int>.poll { fixture.isQuiet })
    }

    @Test("10,000 loads that are cancelled at once leave nothing behind")
    func cancelStorm() {
        let fixture = ManagerFixture(holdsResponses: true)
        let ends = Atomic(0)
        for index in 0..<10_000 {
            let request = ImageRequest(url: fixture.url("\(index % 500)"))
            fixture.load(request) { _ in ends.add(1, ordering: .relaxed) }.cancel()
        }
        #expect(EventLog<Int>.poll { ends.load(ordering: .relaxed) == 10_000 && fixture.isIdle })
    }
}
