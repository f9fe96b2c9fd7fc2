internal import CWebImageGtk4
import GtkWebImage
import WebImageCore
import WebImageLinux

/// Opens the menu of an image, and does what its entries say. The widget owns it.
@MainActor
final class MenuController {
    /// The actions of the menu.
    private enum Action: String, CaseIterable {
        case open = "menu"
        case copy
        case save
        case openImage = "open"
        case copyAddress = "copy-address"
    }

    private static let key = "gwi-image-menu"
    private static let prefix = "gwi-image"

    var menu: ImageMenu? {
        didSet {
            let phase = menu == nil ? GTK_PHASE_NONE : GTK_PHASE_BUBBLE
            for input in inputs { gtk_event_controller_set_propagation_phase(input, phase) }
            if menu == nil { close() }
        }
    }
    /// The controllers that open the menu. Without one, they leave clicks and keys to others.
    private var inputs: [OpaquePointer] = []
    private let widget: WidgetReference
    private let binding: ImageBinding
    private let actions = GObjectBox(adopting: UnsafeMutableRawPointer(g_simple_action_group_new()!))
    /// The open menu.
    private var popover: UnsafeMutablePointer<GtkWidget>?
    /// The image for which the menu was opened.
    private var image: MenuImage?

    private var view: UnsafeMutablePointer<GtkWidget>? { widget.address?.assumingMemoryBound(to: GtkWidget.self) }

    private init(_ menu: ImageMenu, of widget: UnsafeMutableRawPointer, _ binding: ImageBinding) {
        self.menu = menu
        self.widget = WidgetReference(widget)
        self.binding = binding
    }

    static func existing(of widget: UnsafeMutableRawPointer) -> MenuController? {
        g_object_get_data(widget.assumingMemoryBound(to: GObject.self), key).map {
            Unmanaged<MenuController>.fromOpaque($0).takeUnretainedValue()
        }
    }

    static func attach(_ menu: ImageMenu, to widget: UnsafeMutableRawPointer, _ binding: ImageBinding) {
        let controller = MenuController(menu, of: widget, binding)
        let context = Unmanaged.passRetained(controller).toOpaque()
        g_object_set_data_full(widget.assumingMemoryBound(to: GObject.self), key, context) {
            Unmanaged<MenuController>.fromOpaque($0!).release()
        }
        controller.addActions()
        controller.addInput()
        // A widget that is destroyed with a popover would complain of a child that is left.
        widget.connect("destroy") { [weak controller] in controller?.close() }
    }

    // Input

    private func addActions() {
        for action in Action.allCases {
            let made = g_simple_action_new(action.rawValue, nil)!
            UnsafeMutableRawPointer(made).connect("activate") { [weak self] in self?.run(action) }
            g_action_map_add_action(OpaquePointer(actions.pointer), made)
            g_object_unref(UnsafeMutableRawPointer(made))
        }
        enableEntries()
        gtk_widget_insert_action_group(view, Self.prefix, OpaquePointer(actions.pointer))
    }

    private func addInput() {
        let click = gtk_gesture_click_new()!
        gtk_gesture_single_set_button(click, 0)
        UnsafeMutableRawPointer(click).connect("pressed") { [weak self] in
            let event = gtk_event_controller_get_current_event(click)
            if let event, gdk_event_triggers_context_menu(event) != 0 { self?.open(by: click) }
        }
        let press = gtk_gesture_long_press_new()!
        gtk_gesture_single_set_touch_only(press, 1)
        UnsafeMutableRawPointer(press).connect("pressed") { [weak self] in self?.open(by: press) }
        let keys = gtk_shortcut_controller_new()!
        let shortcut = gtk_shortcut_new(
            gtk_shortcut_trigger_parse_string("Menu|<Shift>F10"),
            gtk_named_action_new("\(Self.prefix).\(Action.open.rawValue)")
        )
        gtk_shortcut_controller_add_shortcut(keys, shortcut)
        inputs = [click, press, keys]
        for input in inputs { gtk_widget_add_controller(view, input) }
    }

    private func open(by gesture: OpaquePointer) {
        var (x, y) = (0.0, 0.0)
        gtk_gesture_get_point(gesture, gtk_gesture_single_get_current_sequence(gesture), &x, &y)
        gtk_gesture_set_state(gesture, GTK_EVENT_SEQUENCE_CLAIMED)
        open(x, y)
    }

    // The menu

    /// Opens the menu at a point of the widget.
    private func open(_ x: Double, _ y: Double) {
        guard let menu, let view else { return }
        close()
        image = MenuImage(binding)
        enableEntries()
        let model = g_menu_new()!
        for (title, action) in [
            (menu.copy, Action.copy), (menu.save, .save), (menu.open, .openImage), (menu.copyAddress, .copyAddress),
        ] { g_menu_append(model, title, "\(Self.prefix).\(action.rawValue)") }
        let popover = gtk_popover_menu_new_from_model(UnsafeMutablePointer(model))!
        g_object_unref(UnsafeMutableRawPointer(model))
        self.popover = popover
        gtk_widget_set_parent(popover, view)
        let native = UnsafeMutableRawPointer(popover).assumingMemoryBound(to: GtkPopover.self)
        gtk_popover_set_has_arrow(native, 0)
        gtk_widget_set_halign(popover, GTK_ALIGN_START)
        var place = GdkRectangle(x: Int32(x), y: Int32(y), width: 1, height: 1)
        gtk_popover_set_pointing_to(native, &place)
        let address = UInt(bitPattern: popover)
        UnsafeMutableRawPointer(popover).connect("closed") { [weak self] in
            // GTK activates the action of an entry after it has closed the menu.
            MainLoopDispatcher.shared.dispatch {
                MainActor.assumeIsolated { if UInt(bitPattern: self?.popover) == address { self?.close() } }
            }
        }
        gtk_popover_popup(native)
    }

    private func close() {
        let closed = popover
        (popover, image) = (nil, nil)
        enableEntries()
        guard let closed else { return }
        // GTK 4.8 leaks a popover that is removed while it is open.
        gtk_popover_popdown(UnsafeMutableRawPointer(closed).assumingMemoryBound(to: GtkPopover.self))
        gtk_widget_unparent(closed)
    }

    private func enableEntries() {
        for action in Action.allCases {
            let isEnabled =
                switch action {
                case .open: true
                case .copy, .save, .openImage: image != nil
                case .copyAddress: image?.address != nil
                }
            let simple = g_action_map_lookup_action(OpaquePointer(actions.pointer), action.rawValue)
            g_simple_action_set_enabled(simple, isEnabled ? 1 : 0)
        }
    }

    // Entries

    private func run(_ action: Action) {
        guard let view else { return }
        if action == .open {
            return open(Double(gtk_widget_get_width(view)) / 2, Double(gtk_widget_get_height(view)) / 2)
        }
        guard let menu, let image else { return }
        let clipboard = gtk_widget_get_clipboard(view)
        switch action {
        case .open: break
        case .copy:
            let content = image.makeContentProvider()
            gdk_clipboard_set_content(clipboard, UnsafeMutablePointer(content))
            g_object_unref(UnsafeMutableRawPointer(content))
        case .copyAddress: gdk_clipboard_set_text(clipboard, image.address)
        case .save:
            saveFile(
                named: image.fileName,
                title: menu.save.filter { $0 != "_" && $0 != "…" },
                above: UnsafeMutableRawPointer(view),
                contents: image.data,
                onFailure: menu.report
            )
        case .openImage:
            Task { do throws(ImageError) { try await image.open() } catch { menu.report(error) } }
        }
    }
}
