internal import CWebImageGtk4

/// How an image is fitted into a widget; GtkContentFit.
public enum ContentFit: Sendable {
    /// Stretched to the size of the widget, whatever its aspect ratio.
    case stretch
    /// As large as it can be within the widget.
    case contain
    /// As small as it can be while covering the widget; what sticks out is cut off.
    case cover
    /// As with contain, but never larger than it is.
    case scaleDown

    init(_ native: GtkContentFit) {
        self =
            switch native {
            case GTK_CONTENT_FIT_FILL: .stretch
            case GTK_CONTENT_FIT_COVER: .cover
            case GTK_CONTENT_FIT_SCALE_DOWN: .scaleDown
            default: .contain
            }
    }

    var native: GtkContentFit {
        switch self {
        case .stretch: GTK_CONTENT_FIT_FILL
        case .contain: GTK_CONTENT_FIT_CONTAIN
        case .cover: GTK_CONTENT_FIT_COVER
        case .scaleDown: GTK_CONTENT_FIT_SCALE_DOWN
        }
    }
}
