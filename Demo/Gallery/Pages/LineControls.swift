internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

/// A button that shows the quality of the simulated line, by its name, an icon and a colour, and whose popover changes it.
@MainActor
final class LineControls {
    let button: Widget
    private let line: Line
    private let icon = OpaquePointer(gtk_image_new()!)
    private let name = gtk_label_new("")!
    private let presets: Widget
    private let custom = tr("Custom")
    private let latency = Slider(tr("Latency"), 0...1000, step: 10) { tr("%1 ms", Int($0)) }
    private let bandwidth = Slider(tr("Bandwidth"), 4...7.5, step: 0.1) { value in
        LineControls.bandwidth(value).map { "\(Page.size(Int($0)))/s" } ?? tr("unlimited")
    }
    private let loss = Slider(tr("Packet loss"), 0...20, step: 0.5) { tr("%1 %", Page.number(($0 * 2).rounded() / 2)) }
    private let chaos = Slider(tr("Responses that go wrong"), 0...60, step: 1) { tr("%1 %", Int($0)) }
    private let note = label("", "caption", "dim-label")
    private var offline: Widget?
    private var isShowing = false
    /// Whether there is no room for the name of the line.
    var isNarrow = false {
        didSet { gtk_widget_set_visible(name, isNarrow ? 0 : 1) }
    }

    /// Whether the page does without this line.
    var pageHasOwnLines = false {
        didSet {
            let text = tr("The line between the gallery and its server, for all pages.")
            setText(note, pageHasOwnLines ? tr("This page has its own slow lines.") : text)
        }
    }

    init(_ line: Line) {
        self.line = line
        button = gtk_menu_button_new()!
        gtk_menu_button_set_child(
            OpaquePointer(button),
            box(GTK_ORIENTATION_HORIZONTAL, spacing: 6, [cast(icon), name])
        )
        presets = dropDown(LinePreset.allCases.map(\.looks.title)) { (_: Int) in }
        setName(presets, tr("Kind of line"))
        connect(OpaquePointer(presets), "notify::selected") { [weak self] in self?.choosePreset() }
        let offline = checkButton(tr("Offline")) { [weak self] _ in self?.change() }
        self.offline = offline
        for slider in [latency, bandwidth, loss, chaos] { slider.onChange = { [weak self] _ in self?.change() } }
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
        let (looks, count) = (number.map { LinePreset.allCases[$0].looks }, guint(LinePreset.allCases.count))
        // The entry for another quality is there only while it is selected.
        let model = gtk_drop_down_get_model(OpaquePointer(presets))
        let hasCustom = g_list_model_get_n_items(model) > count
        if number == nil, !hasCustom { gtk_string_list_append(model, custom) }
        gtk_drop_down_set_selected(OpaquePointer(presets), number.map(guint.init) ?? count)
        if number != nil, hasCustom { gtk_string_list_remove(model, count) }
        latency.value = quality.latency
        bandwidth.value = quality.bandwidth.map { log10($0) } ?? 7.5
        loss.value = quality.loss * 100
        chaos.value = quality.chaos * 100
        if let offline { gtk_check_button_set_active(cast(OpaquePointer(offline)), quality.isOffline ? 1 : 0) }
        let title = looks?.title ?? custom
        setText(name, title)
        gtk_image_set_from_icon_name(icon, "network-\(looks?.icon ?? "transmit-receive")-symbolic")
        for preset in LinePreset.allCases { gtk_widget_remove_css_class(button, preset.looks.style) }
        if let looks { gtk_widget_add_css_class(button, looks.style) }
        nameIcon(button, "\(tr("Line")): \(title)")
    }
}
