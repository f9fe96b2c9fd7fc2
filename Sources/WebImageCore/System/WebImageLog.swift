import Glibc
public import Logging
import Synchronization

/// The log of the library. Until an app sets a logger, nothing is logged, but for mistakes in the use of the library, which are
/// printed to standard error.
public enum WebImageLog {
    private static let current = Mutex<Logger?>(nil)
    private static let silent = Logger(label: "GtkWebImage") { _ in SwiftLogNoOpLogHandler() }

    /// The logger, from any thread. Default: one that discards everything.
    public static var logger: Logger {
        get { current.withLock { $0 } ?? silent }
        set { current.release { exchange(&$0, with: newValue) } }
    }

    /// Logs a mistake of the app and how to mend it, as a warning. Printed while there is no logger: whoever makes one
    /// of these mistakes has not read about the logger yet.
    package static func mistake(_ message: String) {
        if let logger = current.withLock({ $0 }) {
            logger.warning("\(message)")
        } else {
            let line = Array("GtkWebImage: \(message)\n".utf8)
            _ = write(STDERR_FILENO, line, line.count)
        }
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
