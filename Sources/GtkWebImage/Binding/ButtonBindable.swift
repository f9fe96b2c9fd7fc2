/// A `GtkButton` of any binding. A class joins by naming its pointer, as with ``PictureBindable``.
///
/// The picture is the child of the button, instead of a label or another child. An app that gives the button another
/// child later keeps that one: the picture is then loaded, but not shown.
@MainActor
public protocol ButtonBindable: ImageBindable {}
