import Testing

@testable import WebImageLinux

@Suite("Lookups that are left behind")
struct LookupLimitTests {
    private let start = ContinuousClock.now

    /// The limits of one host that has left behind as many lookups as it may.
    private func usedUp(_ host: String, at time: ContinuousClock.Instant) -> [String: LookupLimit] {
        var limits: [String: LookupLimit] = [:]
        for _ in 0..<LookupLimit.freeCount { limits.noteLeftBehind(for: host, now: time) }
        return limits
    }

    /// Whether a transfer starts.
    private func starts(_ limit: inout LookupLimit?, at time: ContinuousClock.Instant) -> Bool {
        guard limit?.pause(now: time) != true else { return false }
        limit?.noteStart(now: time)
        return true
    }

    @Test("After the first few, a host gets one lookup a second until the time is over")
    func pauses() {
        var limit = usedUp("a", at: start)["a"]
        let first = starts(&limit, at: start)
        let second = starts(&limit, at: start + .milliseconds(999))
        #expect(first && !second && limit?.nextStart == start + LookupLimit.interval)
        // A second later the next one starts
        let third = starts(&limit, at: start + .seconds(1))
        let fourth = starts(&limit, at: start + .seconds(1))
        #expect(third && !fourth)
        // The pause ends with the time of the lookups.
        let last = starts(&limit, at: start + LookupLimit.window)
        #expect(last && limit?.nextStart == nil)
    }

    @Test("Thirty thousand hosts without an answer cost no more each than a thousand", .timeLimit(.minutes(5)))
    func manyHosts() {
        var limits: [String: LookupLimit] = [:]
        for number in 0..<30_000 { limits.noteLeftBehind(for: "\(number)", now: start + .microseconds(number)) }
        #expect(limits.count == 30_000)
    }

    @Test("Hosts without an answer are forgotten once their lookups are over, so that a thousand of them cost nothing")
    func forgotten() {
        var limits = usedUp("waiting", at: start)
        for number in 1..<1024 { limits.noteLeftBehind(for: "\(number)", now: start) }
        _ = starts(&limits["waiting"], at: start)
        _ = starts(&limits["waiting"], at: start)
        #expect(limits.count == 1024)
        limits.noteLeftBehind(for: "last", now: start + LookupLimit.window)
        // One that a transfer waits for is kept.
        #expect(limits.keys.sorted() == ["last", "waiting"])
    }
}
