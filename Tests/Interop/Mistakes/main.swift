import CGtk4
import Foundation
import GtkWebImage
import GtkWebImageInspector
import StandIns

// Each line is a mistake that users make. The comment after it is in the error of the compiler.

@MainActor
func mistake(_ url: URL, _ picture: WidgetPointer, _ image: WebImage, _ object: Gtk.Picture) async throws {
    picture.setImage(with: "https://example.org/a.png")  // write URL(string: text)
    ImageManager.shared.load("https://example.org/a.png") { _ in }  // write URL(string: text)
    _ = try await ImageManager.shared.image(for: "/home/anna/a.png")  // URL(fileURLWithPath: path) for a file
    picture.setImage(with: image)  // write setImage(image)
    WidgetPointer(object).setImage(with: url)  // conform the class to PictureBindable, ButtonBindable
    _ = ListPrefetcher(view: object) { _ in url }  // conform to 'GtkWidgetConvertible'
    _ = LazyRowBinder(container: object, bind: { _, _ in }, unbind: { _, _ in })  // conform to 'GtkWidget
    ImageInspector.install(in: gtk_window_new())  // write install(in: WidgetPointer(window))
}
