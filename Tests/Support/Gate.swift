import Foundation

/// Blocks threads while it is closed. It starts open.
package final class Gate: @unchecked Sendable {
    // isClosed is accessed only with the condition locked.
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
