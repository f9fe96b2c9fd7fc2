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

    /// Whether a transfer of a host starts.
    private func starts(_ limit: inout LookupLimit, _ host: String, at time: ContinuousClock.Instant) -> Bool {
        guard !limit.pause(host, now: time) else { return false }
        limit.noteStart(for: host, now: time)
        return true
    }

    @Test("After the first few, a host gets one lookup a second until one is answered or the time is over")
    func pauses() {
        var limit = usedUp("a", at: start)
        let first = starts(&limit, "a", at: start)
        let second = starts(&limit, "a", at: start + .milliseconds(999))
        #expect(first && !second && limit.nextStart == start + LookupLimit.interval)
        // Other hosts do not wait.
        let other = starts(&limit, "b", at: start)
        #expect(other && limit.isPaused("a") && !limit.isPaused("b"))
        // A second later the next one starts
        let ended = limit.endPauses(now: start + .seconds(1))
        let third = starts(&limit, "a", at: start + .seconds(1))
        let fourth = starts(&limit, "a", at: start + .seconds(1))
        #expect(ended == ["a"] && third && !fourth)
        // Until an answer comes, or the time is over
        var later = limit
        let wasWaiting = limit.noteAnswer(for: "a")
        let fifth = starts(&limit, "a", at: start + .seconds(1))
        let last = starts(&later, "a", at: start + LookupLimit.window)
        #expect(wasWaiting && fifth && last)
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
        _ = starts(&limit, "a", at: start)
        _ = starts(&limit, "a", at: start)
        limit.noteLeftBehind(for: "b", now: start + LookupLimit.window * 2)
        #expect(limit.nextStart != nil && limit.hostCount == 2)
    }
}
