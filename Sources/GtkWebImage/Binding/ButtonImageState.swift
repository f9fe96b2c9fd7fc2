internal import CWebImageGtk4

/// A state of a widget that can have its own image. A state without an image shows the image of the normal state.
public enum ButtonImageState: Sendable, CaseIterable {
    /// The state whose image replaces missing images of other states.
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
    /// You have set ``ImageBinding/isHighlighted``.
    case highlighted

    /// The states of a widget with these flags, except the normal state, in descending precedence.
    static func states(of flags: UInt32) -> [ButtonImageState] {
        let order: [(GtkStateFlags, ButtonImageState)] = [
            (GTK_STATE_FLAG_INSENSITIVE, .insensitive), (GTK_STATE_FLAG_ACTIVE, .active),
            (GTK_STATE_FLAG_CHECKED, .checked), (GTK_STATE_FLAG_SELECTED, .selected),
            (GTK_STATE_FLAG_PRELIGHT, .prelight),
        ]
        return order.filter { flags & $0.0.rawValue != 0 }.map(\.1)
    }
}
