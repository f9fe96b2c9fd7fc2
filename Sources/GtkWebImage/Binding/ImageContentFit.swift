internal import CWebImageGtk4

/// How an image fits into its widget, like GtkContentFit.
public enum ImageContentFit: Sendable {
    /// Stretched to the size of the widget, without keeping the aspect ratio.
    ///
    /// ![A square image made as wide as its widget](fit-stretch)
    case stretch
    /// As large as possible within the widget.
    ///
    /// ![A square image as high as its widget, with room beside it](fit-contain)
    case contain
    /// As small as possible while covering the widget. The overhang is cut off.
    ///
    /// ![A square image as wide as its widget, cut off above and below](fit-cover)
    case cover
    /// Like ``contain``, but never larger than the image.
    ///
    /// ![A small square image at its own size in the middle of its widget](fit-scale-down)
    case scaleDown

    // These are integers because a C type in a member of a public type would hide GTK's constants from the C module of an app.
    init(native: UInt32) {
        self = [Self.stretch, .cover, .scaleDown].first { $0.native == native } ?? .contain
    }

    var native: UInt32 {
        switch self {
        case .stretch: GTK_CONTENT_FIT_FILL.rawValue
        case .contain: GTK_CONTENT_FIT_CONTAIN.rawValue
        case .cover: GTK_CONTENT_FIT_COVER.rawValue
        case .scaleDown: GTK_CONTENT_FIT_SCALE_DOWN.rawValue
        }
    }
}
