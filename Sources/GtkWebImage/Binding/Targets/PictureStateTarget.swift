internal import CWebImageGtk4

/// The image of a GtkPicture in another state of its widget than the normal one.
@MainActor
final class PictureStateTarget: PictureTarget {
    /// The target of the normal state.
    private let normal: PictureTarget

    init(_ state: ButtonImageState, of normal: PictureTarget) {
        self.normal = normal
        super.init(normal.picture)
        paintable.content.hasSize = normal.paintable.content.hasSize
        normal.add(paintable, for: state)
    }

    override var parent: UnsafeMutablePointer<GtkWidget>? { normal.parent }
    override var hasArea: Bool { normal.hasArea }
    override var fixedSize: (width: Int, height: Int)? {
        get { normal.fixedSize }
        set { normal.fixedSize = newValue }
    }
    override func prepare() { normal.prepare() }
    override func changed() { normal.update() }
    override func update() { normal.update() }
}
