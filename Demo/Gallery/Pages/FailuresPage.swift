internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let failures = Page(
        id: "failures",
        title: tr("Errors and retry"),
        summary: tr(
            "An app says in its words why an image is missing. The library adds a reason and a remedy for developers. The button below an image loads it again, and so does a click on the image."
        ),
        uses: ["errorPlaceholder", "retriesOnClick", "rememberedFailure", "case .failed", "error.reason"]
    ) { context in
        let name = "autumn-trees.jpg"
        let replies: [(URL, String)] = [
            (context.fresh(name, .flaky), tr("Fails once")),
            (context.fresh(name, .missing), tr("Not found")),
            (context.fresh(name, .truncated), tr("Truncated")),
            (context.fresh(name, .bomb), tr("60,000 × 60,000 pixels")),
            (context.fresh(name, .text), tr("A page of text")),
            (context.fresh(name, .closed), tr("The connection breaks")),
            (context.server.refusedURL(name), tr("No secure connection")),
        ]
        var cells: [Widget] = []
        for (url, title) in replies {
            let picture = sizedPicture(width: 152, height: 114)
            let (text, details) = (label("", "caption"), label("", "caption", "dim-label"))
            let heading = label(title, "heading")
            for label in [heading, text, details] { gtk_label_set_max_width_chars(OpaquePointer(label), 15) }
            let again = button(tr("Try again")) {
                picture.setImage(with: ImageRequest(url: url, rememberedFailure: .ignored))
            }
            setName(again, "\(tr("Try again")): \(title)")
            gtk_widget_set_halign(again, GTK_ALIGN_START)
            picture.errorPlaceholder = .icon("image-missing-symbolic", size: 48)
            picture.imageBinding.retriesOnClick = true
            picture.setImage(with: url)
            follow(picture.imageProgress) { [weak picture] state in
                guard let picture else { return }
                // While it loads again, the button keeps the focus.
                let isShown = if case .shown = state { true } else { false }
                gtk_widget_set_sensitive(again, isShown ? 0 : 1)
                let show = {
                    setText(text, $0)
                    setText(details, $1)
                }
                show("", "")
                guard case .failed(let error) = picture.imageProgress.state else { return }
                show(error.title, "\(error.reason). \(error.remedy)")
            }
            cells.append(
                box(
                    GTK_ORIENTATION_VERTICAL,
                    spacing: 6,
                    [fixed(picture.widget), heading, text, details, again]
                )
            )
        }
        return PageContent(flow(cells, columns: 4))
    }
}
