internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import WebImageCore
import WebImageDesktop
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
    private let observer = LoadObserver()
    private var observation: ObservationToken?
    private var nextUpdate: Task<Void, Never>?
    private var ticking: Task<Void, Never>?
    private var shownID: Int?
    /// The number of coming frames that draw only the pane, and need no update.
    private var ownFrameCount = 0

    /// The lines of the last update, the oldest first.
    private(set) var lines: [LoadLine] = []

    init(_ window: Widget, _ clock: OpaquePointer, _ manager: ImageManager) {
        (self.window, self.manager) = (window, manager)
        meter = FrameMeter(clock)
        layer = OverlayLayer(window, clock)
        marks = ImageMarks(window, layer)
        picker = ImagePicker(window)
        pane = InspectorPane(ActivityView(manager, meter))
        paneBox = GObjectBox(retaining: pane.widget.raw)
        observation = observer.observe(manager) { [weak self] in self?.scheduleUpdate() }
        picker.exempt = pane.widget
        connect()
        update()
        // Bars of running loads grow, and a load becomes slow, without any event.
        ticking = Task { [weak self] in
            while (try? await Task.sleep(for: .milliseconds(500))) != nil, let self {
                if lines.contains(where: \.isRunning) { update() }
            }
        }
    }

    func end() {
        observation?.cancel()
        observation = nil
        ticking?.cancel()
        meter.stop()
        marks.stop()
        picker.stop()
        layer.remove()
    }

    /// Selects a line, shows its details, and flashes its image.
    func open(_ id: Int) {
        shownID = id
        guard let line = shownLine else { return }
        pane.requests.list.select(id)
        showDetails(of: line)
        pane.showDetails()
        flash()
    }

    private func flash() {
        if let shownLine { pane.details.setFound(marks.flash(shownLine.url)) }
    }

    /// Opens the newest line of an image.
    func open(_ url: URL) {
        update()
        if let line = lines.last(where: { $0.url == url }) { open(line.id) }
    }

    /// All loads as an HTTP Archive.
    func archive() throws(ImageError) -> String { try HTTPArchive.text(of: lines) }

    /// The number of requests since the inspector was opened.
    var requestCount: Int { observer.count }

    private var shownLine: LoadLine? { lines.first { $0.id == shownID } }

    private func connect() {
        meter.onFrame = { [weak self] in
            guard let self else { return }
            if ownFrameCount > 0 { ownFrameCount -= 1 } else { scheduleUpdate() }
        }
        pane.requests.list.onOpen = { [weak self] in self?.open($0) }
        pane.details.onFlash = { [weak self] in self?.flash() }
        onToggle(pane.pick) { [weak self] in self?.picker.isActive = $0 }
        onToggle(pane.badges) { [weak self] in
            self?.marks.showsBadges = $0
            self?.update()
        }
        pane.clear.raw.connect("clicked") { [weak self] in
            self?.observer.clear()
            self?.update()
            self?.pane.showRequests()
        }
        pane.requests.onReload = { [weak self] in
            guard let self else { return }
            for request in marks.images.reloads { manager.load(request) { _ in } }
        }
        pane.addEntry("Save as HAR…", action: "save") { [weak self] in
            guard let self else { return }
            pane.showNotice("")
            let lines = lines
            saveFile(named: "requests.har", above: pane.widget.raw) { () throws(ImageError) in
                Data(try HTTPArchive.text(of: lines).utf8)
            } onFailure: { [weak pane] in
                pane?.showNotice($0.reason)
            }
        }
        pane.addEntry("Copy as HAR", action: "copy") { [weak self] in
            guard let self else { return }
            do throws(ImageError) {
                gdk_clipboard_set_text(gtk_widget_get_clipboard(pane.widget), try archive())
            } catch { pane.showNotice(error.reason) }
        }
        picker.onPick = { [weak self] url in
            guard let self else { return }
            setOn(pane.pick, false)
            if let url { open(url) }
        }
    }

    /// Schedules an update, so that many changes cost one.
    private func scheduleUpdate() {
        guard nextUpdate == nil else { return }
        nextUpdate = Task { [weak self] in
            try? await Task.sleep(for: .milliseconds(100))
            self?.nextUpdate = nil
            self?.update()
        }
    }

    private func update() {
        guard observation != nil else { return }
        lines = observer.look()
        pane.requests.setLines(lines)
        if pane.showsDetails, let shownLine { showDetails(of: shownLine) }
        marks.setLines(lines)
        pane.activity.update()
        // A pane in a separate window does not draw the measured window.
        if UnsafeMutableRawPointer(gtk_widget_get_root(pane.widget)) == window.raw { ownFrameCount = 2 }
    }

    private func showDetails(of line: LoadLine) {
        pane.details.show(line, LoadDetails(line, cacheKey: manager.cacheKey(for: line.url)))
    }
}
