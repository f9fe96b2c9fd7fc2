internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

/// Shows the frames of the window, the memory cache and its limit, and running loads and decodes.
@MainActor
final class ActivityView {
    let widget: Widget
    private let frames = Canvas()
    private let memory = Canvas()
    private let frameText = label("", "small", "figures")
    private let memoryText = label("", "small", "figures")
    private let workText = label("", "small", "figures")
    private let manager: ImageManager
    private let meter: FrameMeter
    private var statistics = MemoryCacheStatistics()

    /// The seconds of a frame at 60 frames a second.
    private static let frameTime = 1.0 / 60
    /// The seconds at the top of the graph.
    private static let highest = 0.05

    init(_ manager: ImageManager, _ meter: FrameMeter) {
        (self.manager, self.meter) = (manager, meter)
        gtk_widget_set_size_request(frames.widget, -1, 48)
        gtk_widget_set_size_request(memory.widget, -1, 6)
        frames.widget.setAccessibleLabel("Frame times of the last ten seconds")
        memory.widget.setAccessibleLabel("Memory cache")
        let content = box(
            GTK_ORIENTATION_VERTICAL,
            spacing: 4,
            [frameText, frames.widget, memoryText, memory.widget, workText]
        )
        for text in [frameText, memoryText, workText] { gtk_label_set_ellipsize(text.native, PANGO_ELLIPSIZE_END) }
        content.setMargins(12)
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 0, [content])
        gtk_widget_add_css_class(widget, "card-box")
        frames.draw = { [weak self] in self?.drawFrames($0) }
        memory.draw = { [weak self] in self?.drawMemory($0) }
    }

    var texts: [String] {
        [frameText, memoryText, workText].map { String(cString: gtk_label_get_text($0.native)) }
    }

    func update() {
        statistics = manager.cache.memoryStatistics
        let (count, longest) = meter.summary
        let milliseconds = Int((longest * 1000).rounded())
        setText(frameText, "\(count) frames/s, longest \(milliseconds) ms, line at 16.7 ms")
        let (used, limit) = (statistics.byteCount.inBytes, statistics.maximumByteCount.inBytes)
        let images = statistics.count == 1 ? "1 image" : "\(statistics.count) images"
        setText(memoryText, "Memory \(used) of \(limit), \(images)")
        let activity = manager.activity
        let waiting = activity.waitingDecodeCount > 0 ? " (\(activity.waitingDecodeCount) wait)" : ""
        setText(workText, "Transfers \(activity.transferCount), decoders \(activity.decodeCount)\(waiting)")
        frames.invalidate()
        memory.invalidate()
    }

    /// Setting the same text would cause a new layout.
    private func setText(_ label: Widget, _ text: String) {
        if String(cString: gtk_label_get_text(label.native)) != text { gtk_label_set_text(label.native, text) }
    }

    private func drawFrames(_ painter: Painter) {
        guard let last = meter.frames.last?.time else { return }
        let width = max(painter.width / (FrameMeter.period / Self.frameTime), 1)
        for frame in meter.frames {
            guard let interval = frame.interval else { continue }
            let x = painter.width * (1 - (last - frame.time) / FrameMeter.period) - width
            let height = min(interval / Self.highest, 1) * painter.height
            let color = interval > Self.frameTime * 1.5 ? Palette.slowFrame : Palette.frame
            painter.fill(Box(x: x, y: painter.height - height, width: width, height: height), color)
        }
        let line = painter.height * (1 - Self.frameTime / Self.highest)
        painter.fill(Box(x: 0, y: line, width: painter.width, height: 1), Palette.limit)
        painter.fill(Box(x: 0, y: painter.height - 1, width: painter.width, height: 1), painter.foreground(0.3))
    }

    private func drawMemory(_ painter: Painter) {
        // GTK gives a GtkPicture at least 16 pixels if there is space.
        let (y, height) = (max(painter.height - 8, 0) / 2, min(painter.height, 8))
        painter.fill(Box(x: 0, y: y, width: painter.width, height: height), radius: 4, painter.foreground(0.15))
        guard statistics.maximumByteCount > 0 else { return }
        let share = min(Double(statistics.byteCount) / Double(statistics.maximumByteCount), 1)
        guard share > 0 else { return }
        let bar = Box(x: 0, y: y, width: max(painter.width * share, 8), height: height)
        painter.fill(bar, radius: 4, Palette.color(of: .memory))
    }
}
