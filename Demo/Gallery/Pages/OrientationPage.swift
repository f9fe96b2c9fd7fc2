internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let orientation = Page(
        id: "orientation",
        title: tr("Orientation and transparency"),
        summary: tr(
            "Eight files with different EXIF orientations, all shown upright. Below them, images with transparency."
        ),
        code: """
            picture.setImage(with: url)
            """
    ) { context in
        var pictures: [Picture] = []
        var cells: [Widget] = []
        for number in 1...8 {
            let picture = sizedPicture()
            let url = context.server.url("lighthouse.jpg", .rotated, serial: number)
            picture.setImage(with: url)
            pictures.append(picture)
            cells.append(captioned(picture.widget, "EXIF \(number)"))
        }
        var transparent: [Widget] = []
        for name in ["butterfly.png", "jellyfish.webp", "cactus.png", "citrus.webp"] {
            let picture = sizedPicture(covers: false)
            picture.setImage(with: context.fresh(name))
            gtk_widget_add_css_class(picture.widget, "chequered")
            pictures.append(picture)
            transparent.append(captioned(picture.widget, name))
        }
        return PageContent(
            box(GTK_ORIENTATION_VERTICAL, spacing: 24, [flow(cells, columns: 4), flow(transparent, columns: 4)]),
            waitsFor: pictures
        )
    }
}
