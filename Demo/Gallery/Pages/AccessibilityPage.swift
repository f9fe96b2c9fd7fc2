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
        code: """
            picture.setImageDescription("A lighthouse at dusk")
            button.setImageDescription("Open the image")
            """
    ) { context in
        let described = sizedPicture(width: 200, height: 150)
        let late = sizedPicture(width: 200, height: 150)
        let missing = sizedPicture(width: 200, height: 150)
        let button = Button()
        gtk_widget_set_size_request(button.widget, 200, 150)
        describe(described, button)
        late.setImageDescription(tr("A lake that takes long to load"))
        missing.setImageDescription(tr("An image that does not exist"))
        missing.errorPlaceholder = .icon("image-missing-symbolic", pixelSize: 48)
        described.setImage(with: context.fresh("lighthouse.jpg"))
        late.setImage(with: context.fresh("moonlit-lake.jpg", .late), placeholder: .icon("image-x-generic-symbolic"))
        missing.setImage(with: context.fresh("x.jpg", .missing))
        var still = ImageRequest(url: context.fresh("koi-pond.webp"))
        still.isFirstFrameOnly = true
        button.setImage(with: still)
        let cells = [
            captioned(described.widget, tr("“A lighthouse at dusk”")),
            captioned(late.widget, tr("“… , busy” while it loads")),
            captioned(missing.widget, tr("“… , cannot be shown”")),
            captioned(button.widget, tr("a button that describes its action")),
        ]
        return PageContent(flow(cells, columns: 3), waitsFor: [described, late, missing, button])
    }

    @MainActor
    private static func describe(_ picture: Picture, _ button: Button) {
        picture.setImageDescription("A lighthouse at dusk")
        button.setImageDescription("Open the image")
    }
}
