import Glibc
package import WebImageTesting

extension EventLog {
    /// Waits for something that another thread or process does without a notification.
    /// - Parameter pause: The microseconds between two looks, more of them where a look is expensive.
    package static func poll(
        seconds: Double = 120,
        pause: UInt32 = 500,
        until condition: () throws -> Bool
    ) rethrows -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while try !condition() {
            if ContinuousClock.now > deadline { return false }
            // The pause leaves the processors to the other tests.
            usleep(pause)
        }
        return true
    }
}

/// Waits for something that another task does, without a thread: the threads of Swift's concurrency are few, and tests that wait on
/// them hold up what they wait for. The time is long because other tests occupy these threads, too.
package func eventually(seconds: Double = 1200, _ condition: () async -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + .seconds(seconds)
    var pause = Duration.milliseconds(1)
    while !(await condition()) {
        if ContinuousClock.now > deadline { return false }
        try? await Task.sleep(for: pause)
        // Many tests that ask each millisecond would leave no processor to what they ask for.
        pause = min(pause * 1.5, .milliseconds(50))
    }
    return true
}
