internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let failures = Page(
        id: "failures",
        title: tr("Errors and retry"),
        summary: tr(
            "Each failure gives a reason and a remedy. Click an error image to try again."
        ),
        code: """
            picture.errorPlaceholder = .icon("image-missing-symbolic", pixelSize: 48)
            picture.retriesImageOnClick = true
            picture.setImage(with: url) { result in
                if case .failure(let error) = result { show("\\(error.reason). \\(error.remedy)") }
            }
            """
    ) { context in
        let replies: [(ImageServer.Reply, String)] = [
            (.flaky, tr("Succeeds at the second try: click it")), (.missing, tr("Not found")),
            (.truncated, tr("Truncated")), (.bomb, tr("Claims 60,000 × 60,000 pixels")),
            (.text, tr("A page of text")),
        ]
        var pictures: [Picture] = []
        var cells: [Widget] = []
        for (reply, title) in replies {
            let picture = sizedPicture(width: 200, height: 150)
            let text = label("", "caption", "dim-label")
            gtk_label_set_max_width_chars(OpaquePointer(text), 26)
            load(context.fresh("autumn-trees.jpg", reply), into: picture) { setText(text, $0) }
            pictures.append(picture)
            cells.append(
                box(GTK_ORIENTATION_VERTICAL, spacing: 6, [fixed(picture.widget), label(title, "heading"), text])
            )
        }
        return PageContent(flow(cells, columns: 3), waitsFor: pictures)
    }

    @MainActor
    private static func load(_ url: URL, into picture: Picture, show: @escaping @MainActor @Sendable (String) -> Void) {
        picture.errorPlaceholder = .icon("image-missing-symbolic", pixelSize: 48)
        picture.retriesImageOnClick = true
        picture.setImage(with: url) { result in
            if case .failure(let error) = result { show("\(error.reason). \(error.remedy)") }
        }
    }
}
