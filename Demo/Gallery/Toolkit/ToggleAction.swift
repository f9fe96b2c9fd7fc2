internal import CWebImageGtk4

/// An action of an app or a window that is on or off, which its buttons and menu items show.
@MainActor
final class ToggleAction {
    private let action: OpaquePointer

    init(_ name: String) {
        action = g_simple_action_new_stateful(name, nil, g_variant_new_boolean(0))
    }

    /// Adds the action to an app or a window.
    /// - Parameter body: Called when the user activates the action. It sets `isOn`, or has it set.
    func add(to map: OpaquePointer, _ body: @escaping () -> Void) {
        connect(action, "activate", body)
        g_action_map_add_action(map, action)
    }

    var isOn = false {
        didSet { g_simple_action_set_state(action, g_variant_new_boolean(isOn ? 1 : 0)) }
    }
}
