internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

/// A button that names the quality of the simulated line, and whose popover changes it.
@MainActor
final class LineControls {
    let button: Widget
    private let line: Line
    private let presets: Widget
    private let latency = Slider(tr("Latency"), 0...1000, step: 10) { tr("%1 ms", Int($0)) }
    private let bandwidth = Slider(tr("Bandwidth"), 4...7.5, step: 0.1) { value in
        LineControls.bandwidth(value).map { "\(Page.size(Int($0)))/s" } ?? tr("unlimited")
    }
    private let loss = Slider(tr("Packet loss"), 0...20, step: 0.5) { tr("%1 %", Page.number(($0 * 2).rounded() / 2)) }
    private let chaos = Slider(tr("Responses that go wrong"), 0...60, step: 1) { tr("%1 %", Int($0)) }
    private var offline: Widget?
    private var isShowing = false

    init(_ line: Line) {
        self.line = line
        button = gtk_menu_button_new()!
        gtk_menu_button_set_icon_name(OpaquePointer(button), "network-transmit-receive-symbolic")
        presets = dropDown(LinePreset.allCases.map(\.title) + [tr("Custom")]) { (_: Int) in }
        setName(presets, tr("Kind of line"))
        connect(OpaquePointer(presets), "notify::selected", arguments: 1) { [weak self] in self?.choosePreset() }
        let offline = checkButton(tr("Offline")) { [weak self] _ in self?.change() }
        self.offline = offline
        for slider in [latency, bandwidth, loss, chaos] { slider.onChange = { [weak self] _ in self?.change() } }
        let note = label(tr("The line between the gallery and its server, for all pages."), "caption", "dim-label")
        gtk_label_set_max_width_chars(OpaquePointer(note), 28)
        let content = box(
            GTK_ORIENTATION_VERTICAL,
            [presets, latency.widget, bandwidth.widget, loss.widget, chaos.widget, offline, note]
        )
        let popover = gtk_popover_new()!
        gtk_popover_set_child(cast(OpaquePointer(popover)), content)
        gtk_menu_button_set_popover(OpaquePointer(button), popover)
        show()
    }

    /// The scale of the bandwidth is logarithmic, and its end is no limit.
    private static func bandwidth(_ value: Double) -> Double? { value >= 7.5 ? nil : pow(10, value).rounded() }

    private func choosePreset() {
        let number = Int(gtk_drop_down_get_selected(OpaquePointer(presets)))
        guard !isShowing, LinePreset.allCases.indices.contains(number) else { return }
        line.quality = LinePreset.allCases[number].quality
        show()
    }

    private func change() {
        guard !isShowing, let offline else { return }
        line.quality = LineQuality(
            latency: latency.value,
            bandwidth: Self.bandwidth(bandwidth.value),
            loss: loss.value / 100,
            isOffline: gtk_check_button_get_active(cast(OpaquePointer(offline))) != 0,
            chaos: chaos.value / 100
        )
        show()
    }

    /// Shows the quality of the line.
    private func show() {
        isShowing = true
        defer { isShowing = false }
        let quality = line.quality
        let number = LinePreset.allCases.firstIndex { $0.quality == quality }
        gtk_drop_down_set_selected(OpaquePointer(presets), guint(number ?? LinePreset.allCases.count))
        latency.value = quality.latency
        bandwidth.value = quality.bandwidth.map { log10($0) } ?? 7.5
        loss.value = quality.loss * 100
        chaos.value = quality.chaos * 100
        if let offline { gtk_check_button_set_active(cast(OpaquePointer(offline)), quality.isOffline ? 1 : 0) }
        let title = number.map { LinePreset.allCases[$0].title } ?? tr("Custom")
        nameIcon(button, "\(tr("Line")): \(title)")
    }
}
