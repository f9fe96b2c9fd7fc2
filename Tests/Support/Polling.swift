import Glibc
package import WebImageTesting

extension EventLog {
    /// Waits for something that another thread or process does and that nobody announces.
    package static func poll(seconds: Double = 60, until condition: () -> Bool) -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while !condition() {
            if ContinuousClock.now > deadline { return false }
            // Not a spin: the other tests need the processors.
            usleep(500)
        }
        return true
    }
}
