internal import CWebImageGtk4
import Glibc

/// The colour in the middle of the first icon of a window, 0xRRGGBB, which an X server keeps in the property _NET_WM_ICON
/// (Extended Window Manager Hints). GTK and Xlib are asked by name, since GTK has no header for X11 on every system.
/// - Returns: `nil` without an icon.
@MainActor
func iconColor(of window: UnsafeMutablePointer<GtkWidget>) throws -> UInt32? {
    typealias GetDisplay = @convention(c) (OpaquePointer?) -> OpaquePointer?
    typealias GetID = @convention(c) (OpaquePointer?) -> UInt
    typealias Intern = @convention(c) (OpaquePointer?, UnsafePointer<CChar>, Int32) -> UInt
    typealias GetProperty =
        @convention(c) (
            OpaquePointer?, UInt, UInt, Int, Int, Int32, UInt, UnsafeMutablePointer<UInt>, UnsafeMutablePointer<Int32>,
            UnsafeMutablePointer<UInt>, UnsafeMutablePointer<UInt>, UnsafeMutablePointer<UnsafeMutablePointer<UInt>?>
        ) -> Int32
    typealias Free = @convention(c) (UnsafeMutableRawPointer) -> Int32
    func function<T>(_ name: String, as type: T.Type) throws -> T {
        unsafeBitCast(try require(dlsym(nil, name)), to: type)
    }
    let getDisplay = try function("gdk_x11_display_get_xdisplay", as: GetDisplay.self)
    let getID = try function("gdk_x11_surface_get_xid", as: GetID.self)
    let intern = try function("XInternAtom", as: Intern.self)
    let getProperty = try function("XGetWindowProperty", as: GetProperty.self)
    let free = try function("XFree", as: Free.self)

    let surface = try require(gtk_native_get_surface(window.opaque))
    let display = getDisplay(gdk_surface_get_display(surface))
    let cardinal: UInt = 6
    var (type, format, count, left): (UInt, Int32, UInt, UInt) = (0, 0, 0, 0)
    var values: UnsafeMutablePointer<UInt>?
    let property = intern(display, "_NET_WM_ICON", 0)
    let isRead = getProperty(
        display,
        getID(surface),
        property,
        0,
        1 << 20,
        0,
        cardinal,
        &type,
        &format,
        &count,
        &left,
        &values
    )
    guard isRead == 0, let values else { return nil }
    defer { _ = free(values) }
    // The width, the height and a pixel a value.
    guard count >= 2, values[0] > 0, values[1] > 0, count >= 2 + values[0] * values[1] else { return nil }
    return UInt32(truncatingIfNeeded: values[2 + Int(values[1] / 2 * values[0] + values[0] / 2)]) & 0xFFFFFF
}
