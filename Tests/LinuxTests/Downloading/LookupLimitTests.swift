import Testing

@testable import WebImageLinux

@Suite("Lookups that are left behind")
struct LookupLimitTests {
    private let start = ContinuousClock.now

    /// A limit of which one host has left behind as many lookups as it may.
    private func usedUp(_ host: String, at time: ContinuousClock.Instant) -> LookupLimit {
        var limit = LookupLimit()
        for _ in 0..<LookupLimit.freeCount { limit.noteLeftBehind(for: host, now: time) }
        return limit
    }

    @Test("After the first few, a host gets one lookup a second until one is answered or the time is over")
    func pauses() {
        var limit = usedUp("a", at: start)
        let first = limit.pauses("a", now: start)
        let second = limit.pauses("a", now: start + .milliseconds(999))
        #expect(!first && second && limit.nextStart == start + LookupLimit.pause)
        // Other hosts do not wait.
        let other = limit.pauses("b", now: start)
        #expect(!other)
        // A second later the next one starts
        let ended = limit.endPauses(now: start + .seconds(1))
        let third = limit.pauses("a", now: start + .seconds(1))
        let fourth = limit.pauses("a", now: start + .seconds(1))
        #expect(ended == ["a"] && !third && fourth)
        // Until an answer comes, or the time is over
        var later = limit
        let answered = limit.noteAnswer(for: "a")
        let fifth = limit.pauses("a", now: start + .seconds(1))
        #expect(answered == ["a"] && !fifth)
        let last = later.pauses("a", now: start + LookupLimit.window)
        #expect(!last)
    }

    @Test("Thirty thousand hosts without an answer cost no more each than a thousand", .timeLimit(.minutes(5)))
    func manyHosts() {
        var limit = LookupLimit()
        for number in 0..<30_000 { limit.noteLeftBehind(for: "\(number)", now: start + .microseconds(number)) }
        #expect(limit.hostCount == 30_000)
    }

    @Test("Hosts without an answer are forgotten once their lookups are over, so that a thousand of them cost nothing")
    func forgotten() {
        var limit = LookupLimit()
        for number in 0..<1000 { limit.noteLeftBehind(for: "\(number)", now: start) }
        #expect(limit.hostCount == 1000)
        limit.noteLeftBehind(for: "last", now: start + LookupLimit.window)
        #expect(limit.hostCount == 1)
        // One that a transfer waits for is kept.
        limit = usedUp("a", at: start)
        _ = limit.pauses("a", now: start)
        _ = limit.pauses("a", now: start)
        limit.noteLeftBehind(for: "b", now: start + LookupLimit.window * 2)
        #expect(limit.nextStart != nil && limit.hostCount == 2)
    }
}
