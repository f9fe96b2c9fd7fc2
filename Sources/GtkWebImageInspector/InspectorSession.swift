internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import WebImageLinux

/// All parts of an open inspector. Ending the session removes its observations, handlers and widgets.
@MainActor
final class InspectorSession {
    let pane: InspectorPane
    let marks: ImageMarks

    private let picker: ImagePicker
    private let window: Widget
    private let manager: ImageManager
    private let meter: FrameMeter
    private let layer: OverlayLayer
    private let paneBox: GObjectBox
    private let observer: LoadObserver
    private var observation: ObservationToken?
    private var timer: Timer?
    private var shownID: Int?
    /// The number of coming frames that draw only the pane, and need no update.
    private var ownFrameCount = 0

    /// The lines of the last update, the oldest first.
    private(set) var lines: [LoadLine] = []

    /// The milliseconds between updates.
    private static let interval: UInt32 = 100

    init(_ window: Widget, _ clock: OpaquePointer, _ manager: ImageManager) {
        (self.window, self.manager) = (window, manager)
        meter = FrameMeter(clock)
        layer = OverlayLayer(window, clock)
        marks = ImageMarks(window, layer)
        picker = ImagePicker(window)
        pane = InspectorPane(ActivityView(manager, meter))
        paneBox = GObjectBox(retaining: pane.widget.raw)
        let target = WeakSession()
        observer = LoadObserver { target.session?.scheduleUpdate() }
        target.session = self
        observation = observer.observe(manager)
        picker.exempt = pane.widget
        connect()
        update()
    }

    func end() {
        observation?.cancel()
        observation = nil
        timer?.cancel()
        meter.stop()
        marks.stop()
        picker.stop()
        layer.remove()
    }

    /// Selects a line, shows its details, and flashes its image.
    func open(_ id: Int) {
        guard let line = pane.list.line(id) else { return }
        shownID = id
        pane.list.select(id)
        showDetails(of: line)
        pane.showDetails()
        pane.details.setFound(marks.flash(line.url))
    }

    /// Opens the newest line of an image.
    func open(_ url: URL) {
        update()
        if let line = lines.last(where: { $0.url == url }) { open(line.id) }
    }

    /// The number of requests since the inspector was opened.
    var requestCount: Int { observer.count }

    private func connect() {
        meter.onFrame = { [weak self] in
            guard let self else { return }
            if ownFrameCount > 0 { ownFrameCount -= 1 } else { scheduleUpdate() }
        }
        pane.list.onOpen = { [weak self] in self?.open($0) }
        pane.details.onFlash = { [weak self] in
            guard let self, let line = shownID.flatMap(pane.list.line) else { return false }
            return marks.flash(line.url)
        }
        pane.onPick = { [weak self] in self?.picker.isActive = $0 }
        pane.onBadges = { [weak self] isOn in
            guard let self else { return }
            marks.showsBadges = isOn
            marks.setLines(lines)
        }
        pane.onClear = { [weak self] in
            self?.observer.clear()
            self?.shownID = nil
            self?.update()
            self?.pane.showRequests()
        }
        picker.onPick = { [weak self] url in
            guard let self else { return }
            pane.setPicking(false)
            if let url { open(url) }
        }
    }

    /// Schedules an update, so that many changes cost one.
    private func scheduleUpdate() {
        guard observation != nil, timer?.isPending != true else { return }
        timer = .once(after: Self.interval) { [weak self] in self?.update() }
    }

    private func update() {
        lines = observer.look()
        pane.list.setLines(lines)
        if pane.showsDetails, let line = shownID.flatMap(pane.list.line) { showDetails(of: line) }
        marks.setLines(lines)
        pane.activity.update()
        // A pane in a separate window does not draw the measured window.
        if UnsafeMutableRawPointer(gtk_widget_get_root(pane.widget)) == window.raw { ownFrameCount = 2 }
    }

    private func showDetails(of line: LoadLine) {
        pane.details.show(line, LoadDetails(line, cacheKey: manager.cacheKey(for: line.url)))
    }
}

/// A weak reference that other threads can pass to the main thread.
@MainActor
private final class WeakSession {
    weak var session: InspectorSession?
}
