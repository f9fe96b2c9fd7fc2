internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

extension Page {
    static let accessibility = Page(
        id: "accessibility",
        title: tr("For everybody"),
        summary: tr(
            "An image has a description; that it is under way, and that it cannot be had, is said to assistive technology by itself. All can be reached with the keyboard."
        ),
        code: """
            picture.setImageDescription("A lighthouse at dusk")
            button.setImageDescription("Open the picture")
            """
    ) { context in
        let described = sizedPicture(width: 200, height: 150)
        let late = sizedPicture(width: 200, height: 150)
        let missing = sizedPicture(width: 200, height: 150)
        let button = Button()
        gtk_widget_set_size_request(button.widget, 200, 150)
        describe(described, button)
        late.setImageDescription(tr("A lake, which takes long to come"))
        missing.setImageDescription(tr("A picture that is not there"))
        missing.errorPlaceholder = .icon("image-missing-symbolic", pixelSize: 48)
        described.setImage(with: context.fresh("lighthouse.jpg"))
        late.setImage(with: context.fresh("moonlit-lake.jpg", .late), placeholder: .icon("image-x-generic-symbolic"))
        missing.setImage(with: context.fresh("x.jpg", .missing))
        button.setImage(with: context.fresh("koi-pond.webp"), options: .firstFrameOnly)
        let cells = [
            captioned(described.widget, tr("“A lighthouse at dusk”")),
            captioned(late.widget, tr("“… , busy” while it loads")),
            captioned(missing.widget, tr("“… , cannot be shown”")),
            captioned(button.widget, tr("a button that says what it does")),
        ]
        return PageContent(flow(cells, columns: 3), waitsFor: [described, late, missing, button])
    }

    @MainActor
    private static func describe(_ picture: Picture, _ button: Button) {
        picture.setImageDescription("A lighthouse at dusk")
        button.setImageDescription("Open the picture")
    }
}
