internal import CWebImageGLib
import Glibc
package import WebImageCore

/// Reports when to release memory.
///
/// Its sources are GMemoryMonitor, which needs a service that few systems run, the kernel (pressure stall information), and the
/// hiding of the application.
package final class MemoryMonitor: Sendable {
    /// The monitor of the process. GLib also has only one.
    package static let shared: MemoryMonitor = {
        let monitor = MemoryMonitor()
        monitor.watch()
        return monitor
    }()

    private let observers = Observers<MemoryPressure>()

    /// Makes a monitor without system sources, so that the managers of a test do not lose images to the machine or to other tests.
    package init() {}

    private func watch() {
        // GLib creates its monitor by calling services on the bus, which may block.
        startOptionalWork {
            let monitor = Monitor(pointer: g_memory_monitor_dup_default())
            MainLoopDispatcher.shared.dispatch { MainActor.assumeIsolated { startMemoryMonitors(monitor) } }
        }
    }

    /// Calls a handler with each report, on any thread, until the token is released.
    package func observe(_ handler: @escaping @Sendable (MemoryPressure) -> Void) -> ObservationToken {
        observers.add(handler)
    }

    /// Reports that no window of the application is visible. It then needs as little memory as under moderate pressure.
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
/// `@unchecked`: only the main thread uses the object.
private struct Monitor: @unchecked Sendable {
    let pointer: OpaquePointer?
}

/// Connects to the monitors on the main thread, for the life of the process.
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

/// Registers a kernel trigger that fires when tasks have waited for memory for 0.1 of 2 seconds (Documentation/accounting/psi.rst).
/// Since Linux 6.5, unprivileged users may register one.
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
    /// The pressure for a level from 0 to 255. GLib names the levels 50, 100 and 255.
    fileprivate var pressure: MemoryPressure {
        switch rawValue {
        case ..<100: .moderate
        case ..<255: .high
        default: .critical
        }
    }
}
