internal import CWebImageAdwaita
internal import CWebImageGtk4

/// Swift code, coloured as in an editor.
@MainActor
final class CodeLabel {
    private let owned = OwnedWidget(label("", "monospace"))
    private var marked: [String] = []
    /// What is shown.
    private(set) var code = ""

    /// - Parameter wraps: Whether long lines wrap.
    init(wraps: Bool) {
        gtk_label_set_selectable(OpaquePointer(widget), 1)
        gtk_label_set_wrap(OpaquePointer(widget), wraps ? 1 : 0)
        gtk_label_set_yalign(OpaquePointer(widget), 0)
        connect(adw_style_manager_get_default(), "notify::dark") { [weak self] in self?.update() }
    }

    var widget: Widget { owned.widget }

    /// Shows code.
    /// - Parameter marked: Parts of lines that stand out.
    func show(_ code: String, marked: [String] = []) {
        (self.code, self.marked) = (code, marked)
        update()
    }

    private func update() {
        let isDark = adw_style_manager_get_dark(adw_style_manager_get_default()) != 0
        let lines = code.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let text = Self.markup(of: line, isDark: isDark)
            guard marked.contains(where: line.contains), !line.contains("uses: [") else { return text }
            return "<span background='#3584e4' background_alpha='\(isDark ? 25 : 12)%'>\(text)</span>"
        }
        gtk_label_set_markup(OpaquePointer(widget), lines.joined(separator: "\n"))
    }

    /// Colours a line. The colours come from the palette of GNOME, and have a contrast of more than 4.5 to their background.
    private static func markup(of line: Substring, isDark: Bool) -> String {
        let parts = #/(//.*)|("(?:\\.|[^"\\])*")|(\b\d\w*)|(\b[A-Z]\w*)|\.\w+|\w+/#
        let colors = [
            ("#5e5c64", "#b5b3b0"), ("#1a7a4f", "#8ff0a4"), ("#1a5fb4", "#99c1f1"), ("#a04100", "#ffbe6f"),
        ]
        var (markup, rest) = ("", line.startIndex)
        for match in line.matches(of: parts) {
            let kinds = [match.1, match.2, match.3, match.4]
            var color = kinds.firstIndex { $0 != nil }.map { colors[$0] }
            if keywords.contains(match.0) { color = ("#813d9c", "#dc8add") }
            guard let color else { continue }
            let part = escaped(match.0)
            markup += escaped(line[rest..<match.range.lowerBound])
            markup += "<span foreground='\(isDark ? color.1 : color.0)'>\(part)</span>"
            rest = match.range.upperBound
        }
        return markup + escaped(line[rest...])
    }

    private static let keywords = Set(
        """
        as async await break case catch class continue default defer do else enum extension false fileprivate final for func guard \
        if import in init internal is let nil nonisolated private protocol public return self some static struct switch throw \
        throws true try typealias unowned var weak where while any
        """.split(separator: " ")
    )
}

/// A text as a part of XML.
func escaped(_ text: some StringProtocol) -> String {
    let escaped = g_markup_escape_text(String(text), -1)!
    defer { g_free(escaped) }
    return String(cString: escaped)
}
