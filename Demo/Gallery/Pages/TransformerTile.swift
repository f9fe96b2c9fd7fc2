internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

/// An image with a transformer, the time that the transformer took, and a scale for its parameter if it has one.
@MainActor
final class TransformerTile {
    private static let side: Int32 = 128

    let picture = sizedPicture(width: side, height: side, covers: false)
    let widget: Widget
    /// Called when the parameter has changed.
    var onChange: (() -> Void)?
    private let url: URL
    private let transformer: (Double) -> ImageTransformer?
    private let scale: Widget?
    private let time = label("", "caption", "numeric", "dim-label")

    /// - Parameters:
    ///   - value: The parameter at first.
    ///   - range: The ends of the scale. Default: no scale.
    init(
        _ title: String,
        of url: URL,
        value: Double = 0,
        in range: ClosedRange<Double>? = nil,
        _ transformer: @escaping (Double) -> ImageTransformer?
    ) {
        (self.url, self.transformer) = (url, transformer)
        let name = label(title, "caption")
        gtk_widget_set_hexpand(name, 1)
        // A long name wraps, rather than making all tiles wider.
        gtk_label_set_max_width_chars(OpaquePointer(name), 8)
        gtk_label_set_wrap(OpaquePointer(time), 0)
        let head = box(GTK_ORIENTATION_HORIZONTAL, spacing: 6, [name, time])
        gtk_widget_set_size_request(head, Self.side, -1)
        gtk_widget_set_valign(time, GTK_ALIGN_START)
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 6, [fixed(picture.widget), head])
        scale = range.map {
            gtk_scale_new_with_range(
                GTK_ORIENTATION_HORIZONTAL,
                $0.lowerBound,
                $0.upperBound,
                $0.upperBound - $0.lowerBound < 10 ? 0.05 : 1
            )
        }
        if let scale {
            gtk_range_set_value(cast(OpaquePointer(scale)), value)
            gtk_scale_set_draw_value(cast(OpaquePointer(scale)), 1)
            gtk_scale_set_value_pos(cast(OpaquePointer(scale)), GTK_POS_RIGHT)
            gtk_widget_add_css_class(scale, "caption")
            gtk_widget_set_size_request(scale, Self.side, -1)
            setName(scale, title)
            append(scale, to: widget)
            connect(OpaquePointer(scale), "value-changed") { [weak self] in
                self?.show()
                self?.onChange?()
            }
        }
        show()
    }

    /// The parameter of the transformer.
    var value: Double { scale.map { gtk_range_get_value(cast(OpaquePointer($0))) } ?? 0 }

    /// Shows the image with the present value. The one before stays until then.
    func show() {
        let options = BindingOptions(whileLoading: .currentImage)
        picture.setImage(with: ImageRequest(url: url, transformer: transformer(value)), options: options) {
            [time] result in
            guard let duration = try? result.get().durations.transforming else { return }
            setText(time, duration > .zero ? Page.time(duration) : "")
        }
    }
}
