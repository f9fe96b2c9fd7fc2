internal import CWebImageGtk4
internal import CWebImageGtkShims
import FoundationEssentials
public import WebImageCore
import WebImageLinux

/// A factory of image cells for a GtkListView, GtkGridView or GtkColumnViewColumn. Each cell is a GtkPicture. It loads
/// its image when it is bound to an item, and cancels the load when it is unbound.
///
///     let factory = ImageListFactory(width: 160, height: 120) { position in urls[position] }
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

    /// Creates a factory of cells that load what a closure returns.
    /// - Parameters:
    ///   - width: The minimum width of a cell in application pixels. Default: -1, for none.
    ///   - height: The minimum height of a cell in application pixels. Default: -1, for none.
    ///   - contentFit: How an image fits into its cell. Default: `.cover`.
    ///   - placeholder: What a cell shows until its image has loaded.
    ///   - manager: The manager that loads the images. Default: the shared one.
    ///   - imageDescription: Returns the text that assistive technology reads out for the image at a position, and as
    ///     the name of the list item; `nil` for no text.
    ///   - configure: Called once for each new cell, to set transitions, indicators or style classes.
    ///   - request: Returns the URL or the ImageRequest for a position of the list's model; `nil` for an empty cell.
    public init<Source: ImageRequestConvertible>(
        width: Int = -1,
        height: Int = -1,
        contentFit: ImageContentFit = .cover,
        placeholder: ImagePlaceholder? = nil,
        manager: ImageManager? = nil,
        imageDescription: @escaping @MainActor (_ position: Int) -> String? = { _ in nil },
        configure: @escaping @MainActor (WidgetPointer) -> Void = { _ in },
        request: @escaping @MainActor (_ position: Int) -> Source?
    ) {
        let native = UnsafeMutableRawPointer(gtk_signal_list_item_factory_new()!)
        object = GObjectBox(adopting: native)
        native.connectWithArgument("setup") { item in
            let picture = gtk_picture_new()!
            gtk_picture_set_content_fit(OpaquePointer(picture), GtkContentFit(contentFit.native))
            gtk_widget_set_size_request(picture, Int32(clamping: max(width, -1)), Int32(clamping: max(height, -1)))
            gtk_list_item_set_child(OpaquePointer(bitPattern: item), picture)
            if let manager { WidgetPointer(picture).imageBinding.manager = manager }
            configure(WidgetPointer(picture))
        }
        native.connectWithArgument("bind") { item in
            guard let item = OpaquePointer(bitPattern: item), let child = gtk_list_item_get_child(item) else { return }
            let picture = WidgetPointer(child)
            let position = Int(gtk_list_item_get_position(item))
            let description = imageDescription(position)
            picture.setImageDescription(description)
            gwi_list_item_set_accessible_label(item, description)
            if let request = request(position) {
                picture.setImage(with: request, placeholder: placeholder)
            } else {
                picture.clearImage(placeholder: placeholder)
            }
        }
        native.connectWithArgument("unbind") { item in
            guard let child = gtk_list_item_get_child(OpaquePointer(bitPattern: item)) else { return }
            WidgetPointer(child).cancelImageLoad()
        }
    }
}
