internal import CWebImageGtk4
import WebImageLinux

extension PictureTarget {
    /// Creates a GtkPicture behind the child of a button, as large as the button within its border.
    ///
    /// GtkButton lays out all its children in the same way (GtkBinLayout) within its padding. Negative margins extend the
    /// image over the padding. The button does not know this child, so the child is removed when the button is destroyed.
    /// - Parameter button: A GtkButton, or a GtkMenuButton, which contains a button.
    convenience init(behindChildOf button: UnsafeMutableRawPointer) {
        let picture = gtk_picture_new()!
        let reference = WidgetReference(UnsafeMutableRawPointer(picture))
        self.init(reference)
        paintable.content.hasSize = false
        gtk_picture_set_content_fit(OpaquePointer(picture), GTK_CONTENT_FIT_COVER)
        gtk_widget_set_can_target(picture, 0)
        gtk_widget_set_overflow(picture, GTK_OVERFLOW_HIDDEN)
        var surface = button.assumingMemoryBound(to: GtkWidget.self)
        if button.isInstance(of: gtk_menu_button_get_type()), let inner = gtk_widget_get_first_child(surface) {
            surface = inner
        }
        precondition(
            UnsafeMutableRawPointer(surface).isInstance(of: gtk_button_get_type()),
            "Only buttons with a surface have a background image: GtkButton, GtkToggleButton and GtkMenuButton"
        )
        gtk_widget_insert_after(picture, surface, nil)
        let object = UnsafeMutableRawPointer(surface)
        object.connect("destroy") {
            if let picture = reference.pointer { gtk_widget_unparent(picture) }
        }
        let surfaceReference = WidgetReference(object)
        let style = CoveringStyle(picture)
        for signal in ["map", "notify::css-classes", "state-flags-changed"] {
            object.connect(signal) { style.update(surfaceReference, reference) }
        }
        style.update(surfaceReference, reference)
    }
}

/// The style of an image that extends over the padding of its parent. The theme determines the padding, which may
/// change when the button is moved in the widget tree or gets another child.
@MainActor
private final class CoveringStyle {
    private let provider: OpaquePointer
    private let owned: GObjectBox
    private var rules = ""

    init(_ picture: UnsafeMutablePointer<GtkWidget>) {
        let provider = UnsafeMutableRawPointer(gtk_css_provider_new()!)
        owned = GObjectBox(adopting: provider)
        self.provider = OpaquePointer(provider)
        let priority = guint(GTK_STYLE_PROVIDER_PRIORITY_APPLICATION)
        gwi_widget_add_style_provider(picture, self.provider, priority)
    }

    func update(_ surface: WidgetReference, _ picture: WidgetReference) {
        guard let surface = surface.pointer, picture.pointer != nil else { return }
        var padding = GtkBorder()
        gwi_widget_get_padding(surface, &padding)
        // Minimum size and negative margins cancel each other, so the image does not affect the layout.
        let rules = """
            picture { margin: -\(padding.top)px -\(padding.right)px -\(padding.bottom)px -\(padding.left)px; \
            min-width: \(padding.left + padding.right)px; min-height: \(padding.top + padding.bottom)px; \
            border-radius: inherit; }
            """
        guard rules != self.rules else { return }
        self.rules = rules
        gwi_css_provider_load(UnsafeMutablePointer(provider), rules)
    }
}
