internal import CWebImageGLib
import Glibc
package import WebImageCore

/// The monitor that reports when memory should be given back.
///
/// It reports the warnings of GMemoryMonitor, which needs a service that few systems run, those of the kernel (pressure
/// stall information), and the moment at which the application is hidden.
package final class MemoryMonitor: Sendable {
    /// The monitor of the machine, since GLib has one per process too.
    package static let shared: MemoryMonitor = {
        let monitor = MemoryMonitor()
        monitor.watch()
        return monitor
    }()

    private let observers = Observers<MemoryPressure>()

    /// Makes a monitor that reports only what it is told, for tests, whose managers would lose images to the machine or to each
    /// other.
    package init() {}

    private func watch() {
        // GLib calls services on the bus to make its monitor, which may block.
        startOptionalWork {
            let monitor = Monitor(pointer: g_memory_monitor_dup_default())
            MainLoopDispatcher.shared.dispatch { MainActor.assumeIsolated { startMemoryMonitors(monitor) } }
        }
    }

    /// Calls a handler with each report, on any thread, for as long as the token exists.
    package func observe(_ handler: @escaping @Sendable (MemoryPressure) -> Void) -> ObservationToken {
        observers.add(handler)
    }

    /// Reports that no window of the application is visible. It then needs as little memory as under low pressure.
    package func applicationDidHide() {
        notify(.moderate)
    }

    /// Reports memory pressure to the observers. May be called from any thread.
    package func notify(_ pressure: MemoryPressure) {
        WebImageLog.debug("Memory is given back because of \(pressure) memory pressure.")
        observers.notify(pressure)
    }
}

/// A GObject that moves to the main thread.
///
/// @unchecked: only the main thread uses it.
private struct Monitor: @unchecked Sendable {
    let pointer: OpaquePointer?
}

/// Connects to the monitors, on the main thread and for the life of the process.
@MainActor
private func startMemoryMonitors(_ monitor: Monitor) {
    if let monitor = monitor.pointer {
        UnsafeMutableRawPointer(monitor).connectWithArgument("low-memory-warning") { level in
            let level = GMemoryMonitorWarningLevel(rawValue: UInt32(truncatingIfNeeded: level))
            MemoryMonitor.shared.notify(level.pressure)
        }
    }
    watchPressure()
}

/// Registers a trigger with the kernel for the case that tasks wait for memory for 0.1 seconds within 2 seconds
/// (Documentation/accounting/psi.rst). Since Linux 6.5 unprivileged users may do that.
private func watchPressure() {
    let descriptor = open("/proc/pressure/memory", O_RDWR | O_NONBLOCK | O_CLOEXEC)
    let trigger = "some 100000 2000000"
    guard descriptor >= 0, write(descriptor, trigger, trigger.utf8.count + 1) > 0 else {
        if descriptor >= 0 { close(descriptor) }
        WebImageLog.notice("The kernel does not report memory pressure, so only its limit bounds the memory cache.")
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
            MemoryMonitor.shared.notify(.high)
            return 1
        },
        nil
    )
}

extension GMemoryMonitorWarningLevel {
    /// The pressure for a level of 0 to 255, of which GLib names 50, 100 and 255.
    fileprivate var pressure: MemoryPressure {
        switch rawValue {
        case ..<100: .moderate
        case ..<255: .high
        default: .critical
        }
    }
}
