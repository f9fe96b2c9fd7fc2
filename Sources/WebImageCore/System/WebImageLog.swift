import Glibc
public import Logging
import Synchronization

/// The log of the library. Until you set a logger, only programming errors in the use of the library are reported, on
/// standard error.
public enum WebImageLog {
    private static let current = Mutex<Logger?>(nil)
    private static let silent = Logger(label: "GtkWebImage") { _ in SwiftLogNoOpLogHandler() }

    /// The logger. You can get and set it on any thread. Default: a logger that discards everything.
    public static var logger: Logger {
        get { current.withLock { $0 } ?? silent }
        set { current.release { exchange(&$0, with: newValue) } }
    }

    /// Logs a programming error of the app and its fix, as a warning. It is printed if there is no logger, because
    /// developers make these errors before they know about the logger.
    package static func mistake(_ message: String) {
        if let logger = current.withLock({ $0 }) {
            logger.warning("\(message)")
        } else {
            let line = Array("GtkWebImage: \(message)\n".utf8)
            _ = write(STDERR_FILENO, line, line.count)
        }
    }

    /// Logs a failure that the app is told of in another way.
    package static func debug(_ message: @autoclosure () -> String) {
        logger.debug("\(message())")
    }

    /// Logs a problem that the library has worked around.
    package static func notice(_ message: @autoclosure () -> String) {
        logger.notice("\(message())")
    }

    /// Logs something that does not work. Callers do so once.
    package static func error(_ message: @autoclosure () -> String) {
        logger.error("\(message())")
    }
}
