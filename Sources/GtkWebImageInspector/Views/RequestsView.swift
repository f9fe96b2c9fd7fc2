internal import CWebImageGtk4
import WebImageLinux

/// The requests: their problems, a filter, and the waterfall.
@MainActor
final class RequestsView {
    let widget: Widget
    let list = WaterfallList()
    /// Called when the user asks to load the images of the window again.
    var onReload: () -> Void = {}

    private let problems = box(GTK_ORIENTATION_HORIZONTAL, spacing: 6)
    private var buttons: [LoadProblem: Widget] = [:]
    private let search = gtk_search_entry_new()!
    private let order: Widget
    private let stack = gtk_stack_new()!
    private let emptyText = wrapping(label("", "faint"))
    private let emptyButton = gtk_button_new()!
    private var filter = LoadFilter()
    private var lines: [LoadLine] = []

    init() {
        let orders = gtk_string_list_new(nil)
        for order in LoadFilter.Order.allCases { gtk_string_list_append(orders, order.rawValue) }
        order = gtk_drop_down_new(orders, nil)
        let controls = box(GTK_ORIENTATION_HORIZONTAL, [search, order])
        let legend = wrapping(label("", "small"))
        let stages = LoadStage.allCases.map { stage in
            "<span color='#\(String(Palette.value(of: stage), radix: 16))'>■</span>\u{A0}\(stage.rawValue)"
        }
        gtk_label_set_markup(legend.native, stages.joined(separator: "   "))
        let waterfall = box(GTK_ORIENTATION_VERTICAL, [legend, list.widget])
        widget = box(GTK_ORIENTATION_VERTICAL, [problems, controls, stack])
        gtk_stack_add_named(stack.native, makeEmpty(), "empty")
        gtk_stack_add_named(stack.native, waterfall, "list")
        gtk_widget_set_vexpand(stack, 1)
        for problem in LoadProblem.allCases { addButton(problem) }
        gtk_widget_set_hexpand(search, 1)
        search.setAccessibleLabel("Filter by URL")
        search.setProperty("placeholder-text", "Filter by URL")
        search.raw.connect("search-changed") { [weak self] in self?.readControls() }
        gtk_widget_get_first_child(order)?.setAccessibleLabel("Order of the requests")
        order.raw.connect("notify::selected") { [weak self] in self?.readControls() }
    }

    /// Shows the lines that pass the filter.
    func setLines(_ new: [LoadLine]) {
        lines = new
        let now = ContinuousClock.now
        for (problem, button) in buttons {
            let count = lines.count { $0.problems(now: now).contains(problem) }
            let factor = problem == .tooLarge ? lines.compactMap(\.oversize).max().map { " (\($0)×)" } ?? "" : ""
            let text = "\(count) \(problem.rawValue.lowercased())\(factor)"
            gtk_button_set_label(button.cast(to: GtkButton.self), text)
            button.setAccessibleLabel(text)
            let mark = problem == .failed ? "failure" : "warning"
            if count > 0 { gtk_widget_add_css_class(button, mark) } else { gtk_widget_remove_css_class(button, mark) }
        }
        let passed = filter.apply(to: lines, now: now)
        list.setLines(passed)
        let waiting = "No requests yet. Those that begin while the inspector is open are listed here."
        gtk_label_set_text(emptyText.native, lines.isEmpty ? waiting : "No request passes the filter.")
        gtk_button_set_label(emptyButton.cast(to: GtkButton.self), lines.isEmpty ? "Load Images Again" : "Show All")
        gtk_stack_set_visible_child_name(stack.native, passed.isEmpty ? "empty" : "list")
    }

    private func addButton(_ problem: LoadProblem) {
        let button = toggle("", tooltip: "Show only these requests")
        gtk_widget_add_css_class(button, "problem")
        // Large numbers must not widen the pane.
        _ = shortened(gtk_button_get_child(button.cast(to: GtkButton.self)), at: PANGO_ELLIPSIZE_END)
        gtk_box_append(problems.cast(to: GtkBox.self), button)
        buttons[problem] = button
        onToggle(button) { [weak self] isOn in
            guard let self else { return }
            if isOn { for (other, button) in buttons where other != problem { setOn(button, false) } }
            readControls()
        }
    }

    private func readControls() {
        filter.problem = buttons.first { isOn($0.value) }?.key
        filter.text = String(cString: gtk_editable_get_text(search.native))
        filter.order = LoadFilter.Order.allCases[Int(gtk_drop_down_get_selected(order.native))]
        setLines(lines)
    }

    private func makeEmpty() -> Widget {
        let icon = gtk_image_new_from_icon_name("image-x-generic-symbolic")!
        gtk_image_set_pixel_size(icon.native, 48)
        gtk_widget_add_css_class(icon, "faint")
        let content = box(GTK_ORIENTATION_VERTICAL, spacing: 12, [icon, emptyText, emptyButton])
        gtk_label_set_justify(emptyText.native, GTK_JUSTIFY_CENTER)
        gtk_label_set_xalign(emptyText.native, 0.5)
        gtk_widget_set_halign(emptyButton, GTK_ALIGN_CENTER)
        gtk_widget_set_valign(content, GTK_ALIGN_CENTER)
        gtk_widget_add_css_class(content, "no-requests")
        emptyButton.raw.connect("clicked") { [weak self] in
            guard let self, !lines.isEmpty else { return self?.onReload() ?? () }
            for button in buttons.values { setOn(button, false) }
            gtk_editable_set_text(search.native, "")
            readControls()
        }
        return content
    }
}
