internal import CWebImageGtk4

/// How an image fits into its widget, as GtkContentFit.
public enum ContentFit: Sendable {
    /// Stretched to the size of the widget, without keeping the aspect ratio.
    case stretch
    /// As large as possible within the widget.
    case contain
    /// As small as possible while covering the widget; the overhang is cut off.
    case cover
    /// As ``contain``, but never larger than the image.
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
