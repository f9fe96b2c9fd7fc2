internal import CWebImageGtk4
import FoundationEssentials
import WebImageLinux

/// Lets the next click in a window pick an image. Until then, its widgets receive no clicks.
@MainActor
final class ImagePicker {
    private let window: Widget
    private let images: WindowImages
    private let gesture: OpaquePointer
    /// Called with the URL of the clicked image; `nil` if there is none.
    var onPick: (URL?) -> Void = { _ in }
    /// The inspector's widget, where clicks work as usual.
    var exempt: Widget?

    init(_ window: Widget) {
        self.window = window
        images = WindowImages(window: window)
        gesture = gtk_gesture_click_new()
        gtk_event_controller_set_propagation_phase(gesture, GTK_PHASE_NONE)
        // connectWithArgument(_:) would pass only the first of the signal's numbers.
        UnsafeMutableRawPointer(gesture).connect("pressed") { [weak self] in self?.pressed() }
        gtk_widget_add_controller(window, gesture)
    }

    /// Whether the next click chooses an image. Default: no.
    var isActive = false {
        didSet {
            gtk_event_controller_set_propagation_phase(gesture, isActive ? GTK_PHASE_CAPTURE : GTK_PHASE_NONE)
            gtk_widget_set_cursor_from_name(window, isActive ? "crosshair" : nil)
        }
    }

    func stop() {
        isActive = false
        gtk_widget_remove_controller(window, gesture)
    }

    private func pressed() {
        var (x, y) = (0.0, 0.0)
        guard isActive, gtk_gesture_get_point(gesture, nil, &x, &y) != 0 else { return }
        if let exempt, let target = gtk_widget_pick(window, x, y, GTK_PICK_DEFAULT),
            target == exempt || gtk_widget_is_ancestor(target, exempt) != 0
        {
            return
        }
        gtk_gesture_set_state(gesture, GTK_EVENT_SEQUENCE_CLAIMED)
        onPick(images.url(x: x, y: y))
    }
}
