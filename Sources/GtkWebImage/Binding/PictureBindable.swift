/// A `GtkPicture` of any binding. A class joins by naming its pointer:
///
///     extension MyPicture: PictureBindable {
///         var nativeWidgetPointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(gobjectPointer) }
///     }
@MainActor
public protocol PictureBindable: ImageBindable {}
