internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let orientation = Page(
        id: "orientation",
        title: tr("Orientation and transparency"),
        summary: tr(
            "Eight files with different EXIF orientations: on the left the pixels as they lie in the file, on the right the image, upright. Below them, images with transparency."
        ),
        code: """
            picture.setImage(with: url)
            """
    ) { context in
        var pictures: [Picture] = []
        var cells: [Widget] = []
        for number in 1...8 {
            let file = sizedPicture(width: 56, height: 56, covers: false)
            file.setImage(with: context.server.url("lighthouse.jpg", .untagged, serial: number))
            let picture = sizedPicture(width: 94, height: 70)
            let url = context.server.url("lighthouse.jpg", .rotated, serial: number)
            picture.setImage(with: url)
            pictures += [file, picture]
            let pair = box(GTK_ORIENTATION_HORIZONTAL, spacing: 6, [fixed(file.widget), fixed(picture.widget)])
            cells.append(captioned(pair, "EXIF \(number)"))
        }
        var transparent: [Widget] = []
        for name in ["butterfly.png", "jellyfish.webp", "cactus.png", "mushroom.webp"] {
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
