internal import CWebImageGtk4
import WebImageCore

extension WidgetSlots {
    /// Makes the target that suits the kind of the widget.
    ///
    /// A widget with a GdkPaintable property named `paintable` or `custom-image`, or with a `child`, needs nothing here.
    /// Any other kind takes three places: a line in this function, a type in this folder that implements ``SlotTarget``
    /// unless ``PropertyTarget`` or ``ChildTarget`` serves, and a scenario in WidgetKindScenarios.
    func makeTarget(for state: ImageState) -> any SlotTarget {
        guard let widget, let native = widget.pointer else { preconditionFailure("The object is not a GtkWidget") }
        let object = UnsafeMutableRawPointer(native)
        if object.isInstance(of: gtk_picture_get_type()), let presenter {
            if state != .normal { follow(presenter) }
            return PictureTarget(presenter, state)
        }
        if object.isInstance(of: gtk_image_get_type()) {
            return PropertyTarget(widget: widget, property: "paintable") { $0.imageSize }
        }
        if object.isInstance(of: gtk_window_get_type()) { return WindowIconTarget(window: widget) }
        for property in ["custom-image", "paintable"]
        where object.hasProperty(property, of: gdk_paintable_get_type()) {
            return PropertyTarget(widget: widget, property: property, iconSize: nil)
        }
        guard object.hasProperty("child", of: gtk_widget_get_type()) else {
            let type = String(cString: g_type_name_from_instance(object.assumingMemoryBound(to: GTypeInstance.self)))
            preconditionFailure("\(type) takes neither a paintable nor a child. Use bindImage.")
        }
        if state != .normal { follow(child.presenter) }
        return ChildTarget(widget: widget, child: child, state: state)
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// The side of the image of a GtkImage in application pixels (GtkImage:pixel-size, GtkIconSize).
    fileprivate var imageSize: Int {
        let size = Int(gtk_image_get_pixel_size(OpaquePointer(self)))
        if size > 0 { return size }
        return gtk_image_get_icon_size(OpaquePointer(self)) == GTK_ICON_SIZE_LARGE ? 32 : 16
    }
}
