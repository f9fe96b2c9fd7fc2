internal import CWebImageGtk4
import Foundation
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let links = Page(
        id: "links",
        title: tr("Try a URL"),
        summary: tr("Type an address and press Enter, or drop a link or a file on the image."),
        code: """
            picture.setImage(with: ImageRequest(url: URL(typed: text), loading: .progressive)) { result in
                switch result {
                case .success(let response): show("\\(size(response.image.naturalSize)), \\(response.sourceTitle)")
                case .failure(let error): show("\\(error)")
                }
            }
            """
    ) { context in
        let entry = gtk_entry_new()!
        let picture = Picture()
        let text = label("", "caption")
        gtk_entry_set_placeholder_text(cast(OpaquePointer(entry)), "https://")
        setName(entry, tr("Address of the image"))
        gtk_widget_set_hexpand(entry, 1)
        gtk_widget_set_size_request(picture.widget, 300, 300)
        gtk_widget_set_vexpand(picture.widget, 1)
        gtk_widget_add_css_class(picture.widget, "frame")
        picture.imageIndicator = .progress
        picture.errorPlaceholder = .icon("image-missing-symbolic", size: 64)
        let open = { (address: String) in load(address, into: picture) { setText(text, $0) } }
        connect(OpaquePointer(entry), "activate") {
            open(String(cString: gtk_editable_get_text(OpaquePointer(entry))))
        }
        for widget in [picture.widget, entry] {
            onDrop(of: widget) { address in
                gtk_editable_set_text(OpaquePointer(entry), address)
                open(address)
            }
        }
        gtk_editable_set_text(OpaquePointer(entry), context.fresh("photographer.jpg").absoluteString)
        open(String(cString: gtk_editable_get_text(OpaquePointer(entry))))
        return PageContent(
            box(GTK_ORIENTATION_VERTICAL, [entry, text, picture.widget]),
            waitsFor: [picture]
        )
    }

    @MainActor
    private static func load(
        _ text: String,
        into picture: Picture,
        _ show: @escaping @MainActor @Sendable (String) -> Void
    ) {
        show("")
        picture.setImage(with: ImageRequest(url: URL(typed: text), loading: .progressive)) { result in
            switch result {
            case .success(let response): show("\(size(response.image.naturalSize)), \(response.sourceTitle)")
            // What was typed before has been replaced.
            case .failure(let error) where error.isCancelled: break
            case .failure(let error): show("\(error)")
            }
        }
    }
}

extension URL {
    /// What one types for an image: an address, also without its scheme, or the path of a file.
    fileprivate init(typed text: String) {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        if text.hasPrefix("/") {
            self.init(filePath: text)
        } else if text.hasPrefix("~/") {
            self = FileManager.default.homeDirectoryForCurrentUser.appending(path: text.dropFirst(2))
        } else if text.contains("://") || text.hasPrefix("data:"), let url = URL(string: text) {
            self = url
        } else {
            // What is no address becomes one of a host that does not exist.
            let host = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            self = URL(string: "https://\(text)") ?? URL(string: "https://\(host)") ?? URL(filePath: text)
        }
    }
}
