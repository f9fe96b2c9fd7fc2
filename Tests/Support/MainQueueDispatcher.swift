import Foundation
import WebImageCore

/// Dispatches to the main queue, which the test program runs.
package struct MainQueueDispatcher: CallbackDispatching {
    package var isCurrent: Bool { Thread.isMainThread }

    package init() {}

    package func dispatch(_ work: @escaping @Sendable () -> Void) { DispatchQueue.main.async(execute: work) }
}
