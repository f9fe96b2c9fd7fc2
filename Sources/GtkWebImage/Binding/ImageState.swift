internal import CWebImageGtk4

/// The state of a widget that an image of its own can be set for. A state without one shows that of the normal state.
public enum ImageState: String, Sendable, CaseIterable {
    /// What is shown in every state that has no image of its own.
    case normal
    /// The pointer is over the widget.
    case prelight
    /// The widget is pressed.
    case active
    /// A toggle or check button is on.
    case checked
    /// The widget cannot be used.
    case insensitive
    /// The widget is part of a selected row.
    case selected
    /// What PictureBindable/isImageHighlighted says.
    case highlighted

    /// What a widget with these flags is in besides the normal state, what counts most first.
    static func states(of flags: GtkStateFlags) -> [ImageState] {
        let order: [(GtkStateFlags, ImageState)] = [
            (GTK_STATE_FLAG_INSENSITIVE, .insensitive), (GTK_STATE_FLAG_ACTIVE, .active),
            (GTK_STATE_FLAG_CHECKED, .checked), (GTK_STATE_FLAG_SELECTED, .selected),
            (GTK_STATE_FLAG_PRELIGHT, .prelight),
        ]
        return order.filter { flags.rawValue & $0.0.rawValue != 0 }.map(\.1)
    }
}
