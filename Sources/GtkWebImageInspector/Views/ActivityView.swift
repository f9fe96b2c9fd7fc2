internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

/// Shows the frames of the window, the memory cache and its limit, and running loads and decodes.
@MainActor
final class ActivityView {
    let widget: Widget
    private let frames = Canvas()
    private let memory = gtk_progress_bar_new()!
    private let frameText = shortened(label("", "small", "figures"), at: PANGO_ELLIPSIZE_END)
    private let memoryText = shortened(label("", "small", "figures"), at: PANGO_ELLIPSIZE_END)
    private let workText = shortened(label("", "small", "figures"), at: PANGO_ELLIPSIZE_END)
    private let manager: ImageManager
    private let meter: FrameMeter

    /// The seconds of a frame at 60 frames a second.
    private static let frameTime = 1.0 / 60
    /// The seconds at the top of the graph.
    private static let highest = 0.05

    init(_ manager: ImageManager, _ meter: FrameMeter) {
        (self.manager, self.meter) = (manager, meter)
        gtk_widget_set_size_request(frames.widget, -1, 32)
        frames.widget.setAccessibleLabel("Frame times of the last ten seconds")
        memory.setAccessibleLabel("Memory cache")
        let content = [frameText, frames.widget, memoryText, memory, workText]
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 4, content)
        for name in ["card-box", "activity"] { gtk_widget_add_css_class(widget, name) }
        frames.content.draw = { [weak self] in self?.drawFrames($0) }
    }

    var texts: [String] {
        [frameText, memoryText, workText].map { String(cString: gtk_label_get_text($0.native)) }
    }

    func update() {
        let statistics = manager.cache.memoryStatistics
        let (count, longest) = meter.summary
        let milliseconds = Int((longest * 1000).rounded())
        gtk_label_set_text(frameText.native, "\(count) frames/s, longest \(milliseconds) ms, line at 16.7 ms")
        let (used, limit) = (statistics.byteCount.inBytes, statistics.maximumByteCount.inBytes)
        let images = statistics.count == 1 ? "1 image" : "\(statistics.count) images"
        gtk_label_set_text(memoryText.native, "Memory \(used) of \(limit), \(images)")
        let work = manager.activity
        let waiting = work.waitingDecodeCount > 0 ? " (\(work.waitingDecodeCount) wait)" : ""
        gtk_label_set_text(workText.native, "Transfers \(work.transferCount), decoders \(work.decodeCount)\(waiting)")
        frames.invalidate()
        let share = Double(statistics.byteCount) / Double(max(statistics.maximumByteCount, 1))
        gtk_progress_bar_set_fraction(memory.native, min(share, 1))
    }

    private func drawFrames(_ painter: Painter) {
        guard let last = meter.frames.last?.time else { return }
        let width = max(painter.width / (FrameMeter.period / Self.frameTime), 1)
        for frame in meter.frames {
            guard let interval = frame.interval else { continue }
            let x = painter.width * (1 - (last - frame.time) / FrameMeter.period) - width
            let height = min(interval / Self.highest, 1) * painter.height
            let color = interval > Self.frameTime * 1.5 ? Palette.slowFrame : Palette.color(of: .transfer)
            painter.fill(Box(x: x, y: painter.height - height, width: width, height: height), color)
        }
        let line = painter.height * (1 - Self.frameTime / Self.highest)
        painter.fill(Box(x: 0, y: line, width: painter.width, height: 1), Palette.failure)
        painter.fill(Box(x: 0, y: painter.height - 1, width: painter.width, height: 1), painter.foreground(0.3))
    }
}
