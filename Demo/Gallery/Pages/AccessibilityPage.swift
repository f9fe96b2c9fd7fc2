internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let accessibility = Page(
        id: "accessibility",
        title: tr("Accessibility"),
        summary: tr(
            "An image has a description. Assistive technology is told when an image is loading and when it has failed, and everything can be reached with the keyboard."
        ),
        uses: ["setImageDescription", "failureDescription"]
    ) { context in
        let described = sizedPicture(width: 152, height: 114)
        let late = sizedPicture(width: 152, height: 114)
        let missing = sizedPicture(width: 152, height: 114)
        let button = Button()
        gtk_widget_set_size_request(button.widget, 152, 114)
        described.setImageDescription(tr("A lighthouse at dusk"))
        button.setImageDescription(tr("Open the image"))
        late.setImageDescription(tr("A lake that takes long to load"))
        missing.setImageDescription(tr("An image that does not exist"))
        missing.errorPlaceholder = .icon("image-missing-symbolic", size: 48)
        described.setImage(with: context.fresh("lighthouse.jpg"))
        late.setImage(with: context.fresh("moonlit-lake.jpg", .late), placeholder: .icon("image-x-generic-symbolic"))
        missing.setImage(with: context.fresh("x.jpg", .missing))
        var still = ImageRequest(url: context.fresh("koi-pond.webp"))
        still.isFirstFrameOnly = true
        button.setImage(with: still)
        let cells = [
            told(described.widget, as: tr("A lighthouse at dusk"), described.imageProgress),
            told(late.widget, as: tr("A lake that takes long to load"), late.imageProgress),
            told(missing.widget, as: tr("An image that does not exist"), missing.imageProgress),
            told(button.widget, as: tr("Open the image"), button.imageProgress),
        ]
        let heading = label(tr("Below each image is what a screen reader says of it."), "caption")
        return PageContent(box(GTK_ORIENTATION_VERTICAL, [heading, flow(cells, columns: 4)]))
    }

    /// Puts below a widget what assistive technology is told of it.
    @MainActor
    private static func told(_ widget: Widget, as name: String, _ progress: ImageProgress) -> Widget {
        let text = label("", "caption")
        gtk_label_set_max_width_chars(OpaquePointer(text), 18)
        follow(progress) { state in
            let addition =
                switch state {
                case .loading: tr("busy")
                case .failed: ImageAccessibility.failureDescription ?? ""
                default: ""
                }
            setText(text, tr("“%1”", [name, addition].filter { !$0.isEmpty }.joined(separator: ", ")))
        }
        return box(GTK_ORIENTATION_VERTICAL, spacing: 6, [fixed(widget), text])
    }
}
