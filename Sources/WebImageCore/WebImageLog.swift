public import Logging
import Synchronization

/// The log of the library. Nothing is logged until an app sets a logger.
public enum WebImageLog {
    private static let current = Mutex(Logger(label: "GtkWebImage") { _ in SwiftLogNoOpLogHandler() })

    /// The logger, from any thread. Default: one that discards everything.
    public static var logger: Logger {
        get { current.withLock { $0 } }
        set { _ = current.withLock { exchange(&$0, with: newValue) } }
    }

    /// Logs a failure that the app learns of by other means.
    package static func debug(_ message: @autoclosure () -> String) {
        logger.debug("\(message())")
    }

    /// Logs a problem that the library has worked around.
    package static func notice(_ message: @autoclosure () -> String) {
        logger.notice("\(message())")
    }

    /// Logs something that does not work, once.
    package static func error(_ message: @autoclosure () -> String) {
        logger.error("\(message())")
    }
}
