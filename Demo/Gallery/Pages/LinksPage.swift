internal import CWebImageGtk4
import Foundation
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let links = Page(
        id: "links",
        title: tr("Try a URL"),
        summary: tr("Type an address and press Enter, or drop a link or a file on the page."),
        uses: ["setImage(", "ImageRequest(", "imageTransition"],
        parts: ["Playground.swift"]
    ) { context in
        let stage = LinkStage(context.slow("astronaut.jpg", rate: 60))
        return PageContent(stage.widget, owner: stage) { stage.isAtRest }
    }
}

/// An image of any address, the choices for its load, and the Swift for these choices.
@MainActor
private final class LinkStage {
    /// The characters of a URL that are shown.
    private static let shownLength = 300

    private let picture = sizedPicture(width: 320, height: 320, covers: false)
    private let owned = OwnedWidget(box(GTK_ORIENTATION_VERTICAL))
    private let entry = gtk_entry_new()!
    private let text = label("", "caption")
    private let code = CodeLabel(wraps: true)
    private var playground = Playground()
    private var url: URL
    /// Removes the image from the caches before it is loaded.
    private var preparation: Task<Void, Never>?

    init(_ url: URL) {
        self.url = url
        gtk_entry_set_placeholder_text(cast(OpaquePointer(entry)), "https://")
        setName(entry, tr("Address of the image"))
        gtk_editable_set_text(OpaquePointer(entry), url.absoluteString)
        picture.imageIndicator = .progress
        picture.errorPlaceholder = .icon("image-missing-symbolic", size: 64)
        // Long texts wrap, so that both columns stay beside one another.
        gtk_label_set_max_width_chars(OpaquePointer(text), 44)
        gtk_label_set_max_width_chars(OpaquePointer(code.widget), 44)
        let copy = button(tr("Copy as main.swift")) { [weak self] in self?.copy() }
        gtk_widget_set_halign(copy, GTK_ALIGN_START)
        let choices = Playground.settings.map { setting in
            let list = dropDown(setting.titles) { [weak self] number in
                self?.playground[keyPath: setting.number] = number
                self?.load()
            }
            setName(list, setting.name)
            return box(GTK_ORIENTATION_VERTICAL, spacing: 3, [label(setting.name, "caption"), list])
        }
        let image = box(GTK_ORIENTATION_VERTICAL, spacing: 6, [fixed(picture.widget), text])
        let swift = box(GTK_ORIENTATION_VERTICAL, [code.widget, copy])
        for part in [entry, controls(choices), WrapLayout.widget([image, swift])] { append(part, to: widget) }
        connect(OpaquePointer(entry), "activate") { [weak self] in self?.openTyped() }
        // The entry would insert what is dropped on it.
        onDrop(of: widget) { [weak self] address in
            guard let self else { return }
            gtk_editable_set_text(OpaquePointer(entry), address)
            openTyped()
        }
        load()
    }

    var widget: Widget { owned.widget }

    var isAtRest: Bool { preparation == nil && picture.isAtRest }

    private func openTyped() {
        url = URL(typed: String(cString: gtk_editable_get_text(OpaquePointer(entry))))
        load()
    }

    /// Loads the image as chosen, as if it was never loaded before.
    private func load() {
        code.show(playground.code(for: url, length: Self.shownLength))
        setText(text, "")
        picture.clearImage()
        preparation?.cancel()
        let (url, playground) = (url, playground)
        preparation = Task {
            await ImageManager.shared.cache.remove(url)
            guard !Task.isCancelled else { return }
            preparation = nil
            playground.load(url, into: picture) { [text] result in
                switch result {
                case .success(let response):
                    setText(text, "\(Page.size(response.image.naturalSize)), \(response.sourceTitle)")
                // What was chosen before has been replaced.
                case .failure(let error) where error.isCancelled: break
                case .failure(let error): setText(text, "\(error.title)\n\(error)")
                }
            }
        }
    }

    private func copy() {
        copyText(playground.program(for: url), from: widget, saying: tr("The program is in the clipboard"))
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
