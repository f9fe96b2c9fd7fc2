internal import CWebImageGtk4
import GtkWebImage
import GtkWebImageInspector

// The samples of GtkWebImageInspector.md, compiled. What they do not declare is a parameter here.

@MainActor
private func inspect(window: UnsafeMutablePointer<GtkWindow>) {
    #if DEBUG
        ImageInspector.install(in: WidgetPointer(window))
    #endif
}

@MainActor
private func inspectBeside(window: UnsafeMutablePointer<GtkWindow>, sides: UnsafeMutablePointer<GtkBox>) {
    var shown: UnsafeMutablePointer<GtkWidget>?
    ImageInspector.install(in: WidgetPointer(window)) { pane in
        if let old = shown { gtk_box_remove(sides, old) }
        shown = pane?.native()
        if let shown { gtk_box_append(sides, shown) }
    }
}
