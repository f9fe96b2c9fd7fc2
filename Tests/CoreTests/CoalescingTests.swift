import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Coalescing: one fetch per URL, one decode per size")
struct CoalescingTests {
    private let size = PixelSize(width: 64, height: 48)

    @Test("Tasks for the same image share one fetch and one decode")
    func sameImage() {
        // Given 50 tasks and no bytes yet
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(0xFF0000, size: size))
        for _ in 0..<50 { fixture.load("a") }
        // When the bytes arrive
        fixture.loader.finish(fixture.url("a"))
        // Then all tasks have the image
        #expect(fixture.outcomes.wait { $0.count == 50 })
        #expect(fixture.outcomes.all.allSatisfy { $0 == .image(size, .loader) })
        #expect(fixture.loader.started.count == 1)
        #expect(fixture.decodes.count == 1)
        #expect(fixture.isIdle)
    }

    @Test("Different sizes of an image share the fetch, and each is decoded")
    func sizes() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(0xFF0000, size: size))
        fixture.load("a", size: .contain(PixelSize(width: 32, height: 32)))
        fixture.load("a", size: .contain(PixelSize(width: 16, height: 16)))
        fixture.load("a")
        // The look-up of a smaller copy may start the fetch, on a thread of its own.
        #expect(EventLog<Int>.poll { fixture.loader.started.count == 1 })
        fixture.loader.finish(fixture.url("a"))
        #expect(fixture.outcomes.wait { $0.count == 3 })
        #expect(
            Set(fixture.outcomes.all.map { "\($0)" }).count == 3
                && fixture.outcomes.all.contains(.image(PixelSize(width: 32, height: 24), .loader))
        )
        #expect(fixture.loader.started.count == 1)
        #expect(fixture.decodes.count == 3)
    }

    @Test("A second load finds the image in memory and returns it within the call")
    func memory() {
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(0xFF0000, size: size))
        fixture.load("a")
        #expect(fixture.outcomes.wait { $0.count == 1 })
        fixture.load("a")
        #expect(fixture.outcomes.all.last == .image(size, .memory))
        #expect(fixture.outcomes.all.count == 2)
    }

    @Test("Another size of a loaded image is decoded from disk, not fetched again")
    func disk() {
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(0xFF0000, size: size))
        fixture.load("a")
        #expect(fixture.outcomes.wait { $0.count == 1 })
        fixture.load("a", size: .contain(PixelSize(width: 8, height: 8)))
        #expect(fixture.outcomes.wait { $0.count == 2 })
        #expect(fixture.outcomes.all.last == .image(PixelSize(width: 8, height: 6), .disk))
        #expect(fixture.loader.started.count == 1)
    }

    @Test("A fetch has the highest priority of its tasks and follows their changes")
    func priority() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let url = fixture.url("a")
        let low = fixture.load("a", priority: .low)
        #expect(fixture.loader.priority(of: url) == .low)
        let high = fixture.load("a", priority: .high)
        #expect(fixture.loader.priority(of: url) == .high)
        let other = fixture.load("a", priority: .normal, size: .contain(PixelSize(width: 9, height: 9)))
        high.cancel()
        fixture.settle()
        #expect(fixture.loader.priority(of: url) == .normal)
        low.priority = .veryHigh
        fixture.settle()
        #expect(fixture.loader.priority(of: url) == .veryHigh)
        low.cancel()
        other.cancel()
        #expect(fixture.isIdle)
    }
}
