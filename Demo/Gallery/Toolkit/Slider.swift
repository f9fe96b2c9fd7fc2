internal import CWebImageGtk4

/// A scale with its name above it and its value beside the name.
@MainActor
final class Slider {
    let widget: Widget
    /// Called when the user moves the slider.
    var onChange: ((Double) -> Void)?
    private let scale: Widget
    private let text: Widget
    private let format: (Double) -> String
    private var isSetting = false

    /// - Parameters:
    ///   - width: The least width in application pixels.
    ///   - format: Returns the text for a value.
    init(
        _ name: String,
        _ range: ClosedRange<Double>,
        step: Double,
        width: Int32 = 200,
        format: @escaping (Double) -> String
    ) {
        scale = gtk_scale_new_with_range(GTK_ORIENTATION_HORIZONTAL, range.lowerBound, range.upperBound, step)
        text = label("", "numeric", "dim-label")
        self.format = format
        let title = label(name)
        gtk_widget_set_hexpand(title, 1)
        let head = box(GTK_ORIENTATION_HORIZONTAL, [title, text])
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 0, [head, scale])
        gtk_widget_set_size_request(scale, width, -1)
        setName(scale, name)
        setText(text, format(value))
        connect(OpaquePointer(scale), "value-changed") { [weak self] in
            guard let self else { return }
            setText(text, self.format(value))
            if !isSetting { onChange?(value) }
        }
    }

    var value: Double {
        get { gtk_range_get_value(cast(OpaquePointer(scale))) }
        set {
            isSetting = true
            gtk_range_set_value(cast(OpaquePointer(scale)), newValue)
            isSetting = false
        }
    }
}
