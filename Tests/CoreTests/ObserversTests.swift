import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

/// Observers of events, and the tokens that end an observation.
struct ObserversTests {
    @Test("Observers hear of each event in the order in which they were added, until their token is gone")
    func order() {
        let observers = Observers<Int>()
        let log = EventLog<String>()
        let first = observers.add { log.add("first \($0)") }
        var second: ObservationToken? = observers.add { log.add("second \($0)") }
        observers.notify(1)
        _ = second
        second = nil
        observers.notify(2)
        first.cancel()
        observers.notify(3)
        #expect(log.all == ["first 1", "second 1", "first 2"])
        #expect(!observers.isActive)
    }

    @Test("An event that nobody observes is not even made")
    func inactive() {
        let observers = Observers<Int>()
        var count = 0
        func event() -> Int {
            count += 1
            return count
        }
        observers.notify(event())
        let token = observers.add { _ in }
        observers.notify(event())
        token.cancel()
        observers.notify(event())
        #expect(count == 1)
    }

    @Test("A handler may add and end observations: no lock is held while it runs")
    func reentrant() {
        let observers = Observers<Int>()
        let log = EventLog<Int>()
        let tokens = EventLog<ObservationToken>()
        tokens.add(
            observers.add { event in
                log.add(event)
                tokens.all.first?.cancel()
                tokens.add(observers.add { log.add($0 * 10) })
            }
        )
        observers.notify(1)
        observers.notify(2)
        #expect(log.all == [1, 20])
    }

    @Test(
        "A stream has the newest events, ends with the observers, and observes nothing after its consumer",
        .timeLimit(.minutes(5))
    )
    func streams() async {
        var observers: Observers<Int>? = Observers()
        var stream = observers?.stream(bufferingNewest: 2)
        for event in 1...3 { observers?.notify(event) }
        observers = nil
        var seen: [Int] = []
        for await event in stream! { seen.append(event) }
        #expect(seen == [2, 3])
        let others = Observers<Int>()
        stream = others.stream(bufferingNewest: 2)
        #expect(others.isActive)
        stream = nil
        #expect(!others.isActive)
    }

    @Test(
        "A task receives the steps of loads and the changes of the network while the manager exists",
        .timeLimit(.minutes(5))
    )
    func updates() async throws {
        var fixture: ManagerFixture? = ManagerFixture()
        let (steps, changes) = (fixture!.manager.traceEvents(), fixture!.manager.networkUpdates())
        let url = fixture!.url("a")
        fixture!.loader.answer(url, with: TestImage.solid(0x336699, size: PixelSize(width: 8, height: 8)))
        _ = try await fixture!.manager.image(for: url)
        var iterator = changes.makeAsyncIterator()
        let first = await iterator.next()
        fixture!.manager.isOffline = true
        fixture = nil
        var (urls, statuses) = (Set<URL>(), [Bool]())
        for await step in steps { urls.insert(step.url) }
        for await status in changes { statuses.append(status.isAvailable) }
        #expect(urls == [url] && statuses == [false] && first?.isAvailable == true)
    }
}
