public import Logging
import Synchronization

/// The logger of the library. Off until an app sets one; nothing is ever printed otherwise.
public enum WebImageLog {
    private static let current = Mutex(Logger(label: "GtkWebImage") { _ in SwiftLogNoOpLogHandler() })

    /// What the library logs to, from any thread. Default: nothing is logged.
    public static var logger: Logger {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// Something that failed and that the app hears of by other means.
    package static func debug(_ message: @autoclosure () -> String) {
        logger.debug("\(message())")
    }

    /// Something that mended itself.
    package static func notice(_ message: @autoclosure () -> String) {
        logger.notice("\(message())")
    }

    /// Something that does not work, said once.
    package static func error(_ message: @autoclosure () -> String) {
        logger.error("\(message())")
    }
}
