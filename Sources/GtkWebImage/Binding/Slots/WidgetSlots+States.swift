internal import CWebImageGtk4
import WebImageLinux

// The images that a GtkPicture shows in other states of its widget than the normal one. Most widgets have none.
extension WidgetSlots {
    /// Creates the target of a state. The GtkPicture is updated when the states of the widget change.
    func makeStateTarget(for state: ButtonImageState, in picture: PictureTarget) -> PictureTarget {
        if !stateful.contains(where: { $0 === picture }), let pointer = widget?.pointer {
            stateful.append(picture)
            if stateful.count == 1 {
                UnsafeMutableRawPointer(pointer).connect("state-flags-changed") { [weak self] in self?.updateStates() }
            }
            updateStates()
        }
        return PictureStateTarget(state, of: picture)
    }

    func updateStates() {
        guard let pointer = widget?.pointer else { return }
        var states = ButtonImageState.states(of: gtk_widget_get_state_flags(pointer).rawValue)
        if isHighlighted { states.insert(.highlighted, at: 0) }
        for picture in stateful { picture.states = states }
    }
}
