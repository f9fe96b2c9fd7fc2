internal import CWebImageGtk4
internal import CWebImageGtkShims
import FoundationEssentials
public import WebImageCore
import WebImageLinux

/// A factory of image cells for a GtkListView, GtkGridView or GtkColumnViewColumn. Each cell is a GtkPicture. It loads
/// its image when it is bound to an item, and cancels the load when it is unbound.
///
///     let factory = ImageListFactory(items: OpaquePointer.init, width: 160, height: 120) { item in
///         URL(string: String(cString: gtk_string_object_get_string(item)))
///     }
///     let grid = gtk_grid_view_new(nil, nil)!
///     gtk_grid_view_set_factory(OpaquePointer(grid), factory.nativeFactory)
///
/// The list keeps the factory alive, so you need not. Main thread only.
@preconcurrency @MainActor
public final class ImageListFactory {
    /// The `GtkListItemFactory *`. Take a reference if you keep it or pass it as a "transfer full" argument, for
    /// example to gtk_grid_view_new, gtk_list_view_new or gtk_column_view_column_new. gtk_grid_view_set_factory takes
    /// its own reference.
    public var nativeFactory: OpaquePointer { OpaquePointer(object.pointer) }

    private let object: GObjectBox

    /// Creates a factory of cells that load what a closure returns for their items, however the model is sorted and filtered.
    /// - Parameters:
    ///   - items: Makes what the closures receive from the `GObject *` of an item: `OpaquePointer.init`, or the initializer of
    ///     a class of your binding. The item is borrowed for the call of a closure; take a reference to keep it.
    ///   - width: The minimum width of a cell in application pixels. Default: -1, for none.
    ///   - height: The minimum height of a cell in application pixels. Default: -1, for none.
    ///   - contentFit: How an image fits into its cell. Default: `.cover`.
    ///   - placeholder: What a cell shows until its image has loaded.
    ///   - manager: The manager that loads the images. Default: the shared one.
    ///   - imageDescription: Returns the text that assistive technology reads out for the image of an item, and as the name
    ///     of the list item; `nil` for no text.
    ///   - configure: Called once for each new cell, to set transitions, indicators or style classes.
    ///   - request: Returns the URL or the ImageRequest for an item; `nil` for an empty cell.
    public convenience init<Item, Source: ImageRequestConvertible>(
        items: @escaping @MainActor (_ item: UnsafeMutableRawPointer) -> Item,
        width: Int = -1,
        height: Int = -1,
        contentFit: ImageContentFit = .cover,
        placeholder: ImagePlaceholder? = nil,
        manager: ImageManager? = nil,
        imageDescription: @escaping @MainActor (_ item: Item) -> String? = { _ in nil },
        configure: @escaping @MainActor (WidgetPointer) -> Void = { _ in },
        request: @escaping @MainActor (_ item: Item) -> Source?
    ) {
        self.init(size: (width, height), contentFit, placeholder, manager: manager, configure: configure) { cell in
            guard let native = gtk_list_item_get_item(cell) else { return (nil, nil) }
            g_object_ref(native)
            defer { g_object_unref(native) }
            let item = items(UnsafeMutableRawPointer(native))
            return (imageDescription(item), request(item)?.imageRequest)
        }
    }

    /// Creates a factory of cells that load what a closure returns for their positions in the view's model. If the model is
    /// sorted or filtered, these are no positions in your array; use the items.
    ///
    /// The parameters are the same as for a factory by items. The closures receive a position instead of an item.
    public convenience init<Source: ImageRequestConvertible>(
        width: Int = -1,
        height: Int = -1,
        contentFit: ImageContentFit = .cover,
        placeholder: ImagePlaceholder? = nil,
        manager: ImageManager? = nil,
        imageDescription: @escaping @MainActor (_ position: Int) -> String? = { _ in nil },
        configure: @escaping @MainActor (WidgetPointer) -> Void = { _ in },
        request: @escaping @MainActor (_ position: Int) -> Source?
    ) {
        self.init(size: (width, height), contentFit, placeholder, manager: manager, configure: configure) { cell in
            let position = Int(gtk_list_item_get_position(cell))
            return (imageDescription(position), request(position)?.imageRequest)
        }
    }

    /// - Parameter content: Returns what a `GtkListItem *` describes and shows.
    private init(
        size: (width: Int, height: Int),
        _ contentFit: ImageContentFit,
        _ placeholder: ImagePlaceholder?,
        manager: ImageManager?,
        configure: @escaping @MainActor (WidgetPointer) -> Void,
        content: @escaping @MainActor (OpaquePointer) -> (description: String?, request: ImageRequest?)
    ) {
        let native = UnsafeMutableRawPointer(gtk_signal_list_item_factory_new()!)
        object = GObjectBox(adopting: native)
        native.connectWithArgument("setup") { item in
            let picture = gtk_picture_new()!
            gtk_picture_set_content_fit(OpaquePointer(picture), GtkContentFit(contentFit.native))
            let (width, height) = (Int32(clamping: max(size.width, -1)), Int32(clamping: max(size.height, -1)))
            gtk_widget_set_size_request(picture, width, height)
            gtk_list_item_set_child(OpaquePointer(bitPattern: item), picture)
            if let manager { WidgetPointer(picture).imageBinding.manager = manager }
            configure(WidgetPointer(picture))
        }
        native.connectWithArgument("bind") { item in
            guard let item = OpaquePointer(bitPattern: item), let child = gtk_list_item_get_child(item) else { return }
            // The closures of the app may remove the cell, or bind it to another item.
            let (picture, kept) = (
                WidgetPointer(child), [UnsafeMutableRawPointer(item), UnsafeMutableRawPointer(child)]
            )
            for object in kept { g_object_ref(object) }
            defer { for object in kept { g_object_unref(object) } }
            let bound = gtk_list_item_get_item(item)
            let (description, request) = content(item)
            guard gtk_list_item_get_child(item) == child, gtk_list_item_get_item(item) == bound else { return }
            picture.setImageDescription(description)
            gwi_list_item_set_accessible_label(item, description)
            MainThreadMeter.measure {
                if let request {
                    picture.setImage(with: request, placeholder: placeholder)
                } else {
                    picture.clearImage(placeholder: placeholder)
                }
            }
        }
        native.connectWithArgument("unbind") { item in
            guard let child = gtk_list_item_get_child(OpaquePointer(bitPattern: item)) else { return }
            WidgetPointer(child).cancelImageLoad()
        }
    }
}
