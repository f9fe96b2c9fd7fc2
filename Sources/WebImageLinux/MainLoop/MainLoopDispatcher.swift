internal import CWebImageGLib
internal import CWebImageShims
import Synchronization
public import WebImageCore

/// Delivers on the GLib main loop: one source for everything, in order, from any thread.
///
/// Its priority is 115, between resizing (110) and redrawing (120) of GTK, so that an image that has come is part of
/// the next frame. It works for 2 ms at most and then stands back, so that a flood of results does not keep GTK from
/// drawing. Making the first one also makes @MainActor and DispatchQueue.main work under the GLib loop.
public final class MainLoopDispatcher: CallbackDispatching {
    /// The one that everybody uses.
    public static let shared = MainLoopDispatcher()

    /// A GSource, which may be woken from any thread.
    private struct Source: @unchecked Sendable {
        let pointer: UnsafeMutablePointer<GSource>
    }

    private struct Queue {
        private var work: [(@Sendable () -> Void)?] = []
        private var head = 0

        mutating func push(_ body: @escaping @Sendable () -> Void) {
            work.append(body)
        }

        /// What was delivered is given up at once, with all that it holds.
        mutating func pop() -> (@Sendable () -> Void)? {
            guard head < work.count else {
                work.removeAll(keepingCapacity: work.capacity <= 1024)
                head = 0
                return nil
            }
            let body = work[head].take()
            head += 1
            if head > 1024, head * 2 > work.count {
                work.removeFirst(head)
                head = 0
            }
            return body
        }
    }

    static let priority: Int32 = 115
    private static let budget: Int = 2000
    private static let pause: Int = 500

    private let queue = Mutex(Queue())
    private let source = Mutex<Source?>(nil)

    private init() {
        MainActorBridge.install()
        // Never freed: the dispatcher lives as long as the process.
        let context = Unmanaged.passUnretained(self).toOpaque()
        let made = gwi_timed_source_new(
            { context in Unmanaged<MainLoopDispatcher>.fromOpaque(context!).takeUnretainedValue().drain() },
            context,
            Self.priority,
            "GtkWebImage delivery"
        )!
        source.withLock { $0 = Source(pointer: made) }
        g_source_attach(made, nil)
    }

    /// Whether the caller is on the main thread.
    public var isCurrent: Bool { gwi_is_main_thread() != 0 }

    /// Runs work on the main thread, in a later turn of the main loop.
    public func dispatch(_ work: @escaping @Sendable () -> Void) {
        queue.withLock { $0.push(work) }
        if let source = source.withLock({ $0 }) { g_source_set_ready_time(source.pointer, 0) }
    }

    /// Runs what waits, for as long as the budget lasts.
    /// - Returns: Microseconds until the rest is due; -1 when there is none.
    private func drain() -> Int {
        let end = g_get_monotonic_time() + Self.budget
        while let work = queue.withLock({ $0.pop() }) {
            MainThreadMeter.measure(work)
            if g_get_monotonic_time() >= end { return Self.pause }
        }
        return -1
    }
}
