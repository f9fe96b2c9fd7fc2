import GtkWebImage
import Synchronization

/// Counts what becomes of loads, each once, on any thread.
final class LoadCounts: Sendable {
    struct Numbers {
        /// All loads that were started, those that still run included.
        var loads = 0
        /// Those that ended with an image, by its source.
        var memory = 0
        var disk = 0
        var network = 0
        var failed = 0
        var cancelled = 0
    }

    private let numbers = Mutex(Numbers())

    var all: Numbers { numbers.withLock { $0 } }

    func add(_ step: LoadTraceEvent.Kind) {
        numbers.withLock { numbers in
            switch step {
            case .requested: numbers.loads += 1
            case .delivered(.memory): numbers.memory += 1
            case .delivered(.disk): numbers.disk += 1
            case .delivered(.loader), .delivered(.revalidated): numbers.network += 1
            case .failed: numbers.failed += 1
            case .cancelled: numbers.cancelled += 1
            default: break
            }
        }
    }
}
