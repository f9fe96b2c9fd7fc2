internal import CWebImageGLib
import Dispatch
import Glibc
import Synchronization
package import WebImageCore

/// Tells when memory is to be given back: when GLib says that the system is short of it (GMemoryMonitor, which needs
/// a service that few systems run), when the kernel says so (pressure stall information), and when the app is hidden.
package final class MemoryMonitor: Sendable {
    /// - Returns: Whether it wants to hear more.
    package typealias Handler = @Sendable (MemoryPressure) -> Bool

    /// The only one: the monitors of the system are there once a process, too.
    package static let shared = MemoryMonitor()

    private let handlers = Mutex<[Handler]>([])

    private init() {
        // GLib asks for services on the bus when it makes the monitor, which may take its time.
        DispatchQueue.global().async {
            let monitor = Monitor(pointer: g_memory_monitor_dup_default())
            MainLoopDispatcher.shared.dispatch { startMemoryMonitors(monitor) }
        }
    }

    package func add(_ handler: @escaping Handler) {
        handlers.withLock { $0.append(handler) }
    }

    /// Tells all who listen. On any thread.
    package func tell(_ pressure: MemoryPressure) {
        WebImageLog.debug("Memory is given back: \(pressure)")
        // Called with the lock free: whoever gives memory back may be adding another.
        let heard = handlers.withLock { $0 }
        let staying = heard.map { $0(pressure) }
        guard staying.contains(false) else { return }
        handlers.withLock { handlers in
            let added = handlers.dropFirst(heard.count)
            handlers = zip(heard, staying).filter(\.1).map(\.0) + added
        }
    }
}

/// A GObject on its way to the main thread, which alone uses it.
private struct Monitor: @unchecked Sendable {
    let pointer: OpaquePointer?
}

/// On the main thread. What it makes lives as long as the process.
private func startMemoryMonitors(_ monitor: Monitor) {
    let handler: @convention(c) (gpointer?, GMemoryMonitorWarningLevel, gpointer?) -> Void = { _, level, _ in
        MemoryMonitor.shared.tell(level.pressure)
    }
    if let monitor = monitor.pointer {
        let callback = unsafeBitCast(handler, to: GCallback.self)
        let object = UnsafeMutableRawPointer(monitor)
        g_signal_connect_data(object, "low-memory-warning", callback, nil, nil, G_CONNECT_DEFAULT)
    }
    watchPressure()
}

/// Asks the kernel to tell when tasks have waited for memory for a tenth of a second within two
/// (Documentation/accounting/ psi.rst); users other than root may do that from Linux 6.5 on.
private func watchPressure() {
    let descriptor = open("/proc/pressure/memory", O_RDWR | O_NONBLOCK | O_CLOEXEC)
    let trigger = "some 100000 2000000"
    guard descriptor >= 0, write(descriptor, trigger, trigger.utf8.count + 1) > 0 else {
        if descriptor >= 0 { close(descriptor) }
        WebImageLog.notice("The kernel does not tell when memory is short; the memory cache keeps to its limit only.")
        return
    }
    let condition = GIOCondition(rawValue: G_IO_PRI.rawValue | G_IO_ERR.rawValue)
    g_unix_fd_add(
        descriptor,
        condition,
        { descriptor, condition, _ in
            guard condition.rawValue & G_IO_ERR.rawValue == 0 else {
                close(descriptor)
                return 0
            }
            MemoryMonitor.shared.tell(.medium)
            return 1
        },
        nil
    )
}

extension GMemoryMonitorWarningLevel {
    /// 50, 100 and 255, or anything between.
    fileprivate var pressure: MemoryPressure {
        switch rawValue {
        case ..<100: .low
        case ..<255: .medium
        default: .critical
        }
    }
}
