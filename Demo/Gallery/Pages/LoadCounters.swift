internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import Synchronization

/// A line of figures about the current activity of the library.
@MainActor
final class LoadCounters {
    let widget: Widget
    private let counts: LoadCounts
    /// A label for each figure. GTK would measure one label that wraps anew in each frame in which the wall is scrolled.
    private let labels: [Widget]
    /// The frame clock of the window, and the connection to it.
    private var frames: (clock: OpaquePointer, connection: gulong)?
    private var lastFrame: Int64 = 0
    private var longest = 0.0
    private var shownAt: Int64 = 0

    init(_ counts: LoadCounts) {
        self.counts = counts
        // Figures that get longer must not move the wall.
        let numbers = LoadCounts.Numbers(
            loads: 9999,
            memory: 9999,
            disk: 9999,
            network: 999,
            failed: 99,
            cancelled: 9999
        )
        labels = Self.texts(numbers, longestFrame: 999).map { text in
            let label = valueLabel("", "caption")
            gtk_label_set_width_chars(OpaquePointer(label), Int32(text.count))
            return label
        }
        widget = WrapLayout.widget(labels)
        for side in [gtk_widget_set_margin_top, gtk_widget_set_margin_bottom] { side(widget, 6) }
        gtk_widget_set_margin_start(widget, 12)
        // Follows frames that are drawn anyway. A tick callback would redraw the window continuously.
        connect(OpaquePointer(widget), "realize") { [weak self] in
            guard let self, let clock = gtk_widget_get_frame_clock(widget) else { return }
            let connection = connect(clock, "after-paint") { [weak self] in
                self?.frame(at: Int64(gdk_frame_clock_get_frame_time(clock)))
            }
            frames = (clock, connection)
        }
        connect(OpaquePointer(widget), "unrealize") { [weak self] in
            guard let self, let frames else { return }
            g_signal_handler_disconnect(UnsafeMutableRawPointer(frames.clock), frames.connection)
            self.frames = nil
        }
    }

    /// - Parameter time: The time of the frame in microseconds.
    private func frame(at time: Int64) {
        // Only consecutive frames count: over a longer gap nothing was animated.
        if lastFrame > 0, time - lastFrame < 200_000 { longest = max(longest, Double(time - lastFrame) / 1000) }
        lastFrame = time
        // Twice a second, because figures that change faster are unreadable.
        guard time - shownAt > 500_000 else { return }
        shownAt = time
        for (label, text) in zip(labels, Self.texts(counts.all, longestFrame: longest)) { setText(label, text) }
        longest = 0
    }

    private static func texts(_ numbers: LoadCounts.Numbers, longestFrame: Double) -> [String] {
        let memory = ImageManager.shared.cache.memoryStatistics
        return [
            "\(tr("loads")) \(numbers.loads)", "\(tr("memory")) \(numbers.memory)", "\(tr("disk")) \(numbers.disk)",
            "\(tr("network")) \(numbers.network)", "\(tr("failed")) \(numbers.failed)",
            "\(tr("cancelled")) \(numbers.cancelled)", Page.size(memory.byteCount),
            tr("longest frame %1 ms", Int(longestFrame)),
        ]
    }
}

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
        /// The transfers that were started, which loads of the same URL share.
        var transfers = 0
        /// The bytes of those that were completed.
        var byteCount = 0

        /// What has been added since earlier numbers.
        func since(_ earlier: Self) -> Self {
            Self(
                loads: loads - earlier.loads,
                memory: memory - earlier.memory,
                disk: disk - earlier.disk,
                network: network - earlier.network,
                failed: failed - earlier.failed,
                cancelled: cancelled - earlier.cancelled,
                transfers: transfers - earlier.transfers,
                byteCount: byteCount - earlier.byteCount
            )
        }
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
            case .fetchStarted: numbers.transfers += 1
            case .fetched(let metrics): numbers.byteCount += Int(metrics?.receivedByteCount ?? 0)
            default: break
            }
        }
    }
}
