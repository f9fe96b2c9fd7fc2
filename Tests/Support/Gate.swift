import Foundation

/// Holds threads up while it is closed. Open at first.
package final class Gate: @unchecked Sendable {
    // isClosed is touched with the condition locked only.
    private let condition = NSCondition()
    private var isClosed = false

    package init() {}

    package func close() {
        condition.withLock { isClosed = true }
    }

    package func open() {
        condition.withLock {
            isClosed = false
            condition.broadcast()
        }
    }

    package func wait() {
        condition.withLock {
            while isClosed { condition.wait() }
        }
    }
}
