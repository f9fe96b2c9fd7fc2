internal import CWebImageGtk4

/// The keyboard shortcuts, and the window that lists them.
enum ShortcutsWindow {
    /// The shortcuts with their keys and actions.
    static var all: [(title: String, action: String, keys: [String])] {
        [
            (tr("Search the pages"), "win.search", ["<Control>f"]),
            (tr("Next page"), "win.next", ["<Control>Page_Down"]),
            (tr("Previous page"), "win.previous", ["<Control>Page_Up"]),
            (tr("Back"), "win.back", ["Escape", "<Alt>Left"]),
            (tr("Source of the page"), "win.source", ["<Control>u"]),
            (tr("Inspector"), "win.inspector", ["F12"]),
            (tr("Reload the page"), "win.reload", ["<Control>r", "F5"]),
            (tr("Full screen"), "win.fullscreen", ["F11"]),
            (tr("Dark style"), "app.dark", ["<Control>d"]),
            (tr("Keyboard shortcuts"), "win.show-help-overlay", ["<Control>question"]),
            (tr("Close the window"), "win.close", ["<Control>w"]),
            (tr("Quit"), "app.quit", ["<Control>q"]),
        ]
    }

    /// Creates the window from XML, the only way to build a GtkShortcutsWindow.
    @MainActor
    static func make() -> OpaquePointer {
        var shortcuts = ""
        for shortcut in all {
            shortcuts += """
                <child><object class="GtkShortcutsShortcut">
                <property name="title">\(escaped(shortcut.title))</property>
                <property name="accelerator">\(escaped(shortcut.keys.joined(separator: " ")))</property>
                </object></child>
                """
        }
        let xml = """
            <interface><object class="GtkShortcutsWindow" id="shortcuts"><property name="modal">1</property>
            <property name="title">\(escaped(tr("Keyboard Shortcuts")))</property>
            <child><object class="GtkShortcutsSection"><property name="section-name">all</property>
            <child><object class="GtkShortcutsGroup">
            <property name="title">\(escaped(tr("Gallery")))</property>
            \(shortcuts)
            </object></child></object></child></object></interface>
            """
        let builder = gtk_builder_new_from_string(xml, -1)!
        defer { g_object_unref(UnsafeMutableRawPointer(builder)) }
        // GTK owns a window until the window is destroyed.
        return OpaquePointer(gtk_builder_get_object(builder, "shortcuts")!)
    }
}
