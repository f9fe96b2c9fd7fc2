internal import CWebImageGtk4
import GtkWebImage
public import GtkWebImageWidgets

/// A row of the table, as UITableViewCell is one: an image and a line of text, used again for other photographs.
@MainActor
open class PhotoCell {
    /// What the original calls an image view.
    public let imageView = Picture()
    let row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12)!
    private let label = gtk_label_new(nil)!
    /// The photograph that the cell shows now.
    private(set) var photo: Photo?

    /// The text beside the image.
    public var text = "" {
        didSet { gtk_label_set_text(OpaquePointer(label), text) }
    }

    /// Makes an empty cell.
    public required init() {
        let image: UnsafeMutablePointer<GtkWidget> = imageView.native()
        gtk_widget_set_size_request(image, 160, 120)
        let box = UnsafeMutableRawPointer(row).assumingMemoryBound(to: GtkBox.self)
        gtk_box_append(box, image)
        gtk_box_append(box, label)
    }

    /// Shows a photograph. The original is `tableView(_:cellForRowAt:)`.
    open func show(_ photo: Photo) {}

    /// Makes the cell ready for another photograph.
    open func prepareForReuse() {}

    final func bind(_ photo: Photo) {
        self.photo = photo
        show(photo)
    }

    final func unbind() {
        photo = nil
        prepareForReuse()
    }

    /// Whether the cell shows its photograph whole.
    final var isComplete: Bool {
        guard let photo, let image = imageView.currentImage else { return false }
        return imageView.imageBinding.request?.url == photo.url && !image.isPartial
    }
}
