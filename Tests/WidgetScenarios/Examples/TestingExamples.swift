internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import WebImageTesting

// The samples of Testing.md that need GTK, compiled; the others are in WidgetTests. What they do not declare is a parameter
// here.

@MainActor
private func display(url: URL, manager: ImageManager, window: UnsafeMutablePointer<GtkWindow>) throws {
    let display = try XvfbDisplay.start()
    display.exportEnvironment()
    guard gtk_init_check() != 0 else { return }
    let picture = Picture()
    gtk_window_set_child(window, picture.nativeWidgetPointer.assumingMemoryBound(to: GtkWidget.self))
    picture.setImage(with: url, options: BindingOptions(start: .immediately), manager: manager)
    let isShown = MainLoopPump.run(until: { picture.currentImage != nil })
    display.stop()
    _ = isShown
}
