import Glibc
package import WebImageTesting

extension EventLog {
    /// Waits for something that another thread or process does without a notification.
    package static func poll(seconds: Double = 60, until condition: () -> Bool) -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while !condition() {
            if ContinuousClock.now > deadline { return false }
            // The pause leaves the processors to the other tests.
            usleep(500)
        }
        return true
    }
}
