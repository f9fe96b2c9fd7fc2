internal import CWebImageGtk4
public import FoundationEssentials
public import WebImageCore
public import WebImageLinux

/// Cells of images for a GtkListView, GtkGridView or GtkColumnViewColumn: it makes a GtkPicture for each, sets
/// the image when a cell is bound to an item, and lets go of it when the cell is taken for another.
///
///     let factory = ImageListFactory(width: 160, height: 120) { position in urls[position] }
///     gtk_grid_view_set_factory(grid, factory.nativeFactoryPointer)
///
/// The list keeps the factory alive; the app need not. Main thread only.
@MainActor
public final class ImageListFactory {
    /// The GtkListItemFactory *. A caller that keeps it takes a reference.
    public var nativeFactoryPointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(native) }

    private let native: OpaquePointer
    private let owned: GObjectReference

    /// Makes a factory.
    /// - Parameters:
    ///   - width: Of a cell at least, in application pixels. Default: what the list gives it.
    ///   - height: Of a cell at least, in application pixels. Default: what the list gives it.
    ///   - contentFit: How images are fitted into their cells. Default: they cover them.
    ///   - placeholder: Shown until an image is there.
    ///   - manager: Loads the images. Default: the shared one.
    ///   - configure: Called once for each cell that is made: transitions, indicators, style classes.
    ///   - request: The image of a position of the list's model; nil: none.
    public init(
        width: Int = -1,
        height: Int = -1,
        contentFit: ContentFit = .cover,
        placeholder: Placeholder? = nil,
        manager: ImageManager = .shared,
        configure: @escaping (PicturePointer) -> Void = { _ in },
        request: @escaping (_ position: Int) -> ImageRequest?
    ) {
        native = gtk_signal_list_item_factory_new()!
        owned = GObjectReference(native)
        let object = UnsafeMutableRawPointer(native)
        object.connectWithArgument("setup") { item in
            let picture = gtk_picture_new()!
            gtk_picture_set_content_fit(OpaquePointer(picture), contentFit.native)
            gtk_widget_set_size_request(picture, Int32(clamping: width), Int32(clamping: height))
            gtk_list_item_set_child(OpaquePointer(bitPattern: item), picture)
            configure(PicturePointer(picture))
        }
        object.connectWithArgument("bind") { item in
            guard let item = OpaquePointer(bitPattern: item), let child = gtk_list_item_get_child(item) else { return }
            let picture = PicturePointer(child)
            let position = Int(gtk_list_item_get_position(item))
            if let request = request(position) {
                picture.setImage(with: request, placeholder: placeholder, manager: manager)
            } else {
                picture.setImage(with: nil as URL?, placeholder: placeholder, manager: manager)
            }
        }
        object.connectWithArgument("unbind") { item in
            guard let child = gtk_list_item_get_child(OpaquePointer(bitPattern: item)) else { return }
            PicturePointer(child).cancelCurrentImageLoad()
        }
    }

    /// Makes a factory of URLs.
    public convenience init(
        width: Int = -1,
        height: Int = -1,
        contentFit: ContentFit = .cover,
        placeholder: Placeholder? = nil,
        manager: ImageManager = .shared,
        url: @escaping (_ position: Int) -> URL?
    ) {
        self.init(
            width: width,
            height: height,
            contentFit: contentFit,
            placeholder: placeholder,
            manager: manager
        ) { position in
            url(position).map { ImageRequest(url: $0) }
        }
    }

    deinit {
        owned.releaseOnMainThread()
    }
}
