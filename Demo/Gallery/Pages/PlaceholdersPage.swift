internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let placeholders = Page(
        id: "placeholders",
        title: tr("Placeholders"),
        summary: tr(
            "An icon, a colour, a blurred image from a hash of a few bytes, or a small file takes the place of an image that is still loading."
        ),
        uses: ["placeholder: .", "whileLoading:"]
    ) { context in
        let titles = [
            tr("an icon"), tr("its mean colour"), tr("its BlurHash, 28 characters"),
            tr("the same image, 24 pixels wide"), tr("the image before"),
        ]
        let pictures = titles.map { _ in sizedPicture(width: 152, height: 114) }
        let repetition = Repetition(of: pictures, seconds: 3) { _ in
            let url = context.slow("desert-dunes.jpg", rate: 50)
            let small = context.fresh("desert-dunes.jpg", .small)
            let before = context.fresh("misty-forest.jpg")
            pictures[0].setImage(with: url, placeholder: .icon("image-x-generic-symbolic", size: 48))
            pictures[1].setImage(with: url, placeholder: .color(ImageColor(0xB3988A)))
            pictures[2].setImage(with: url, placeholder: .blurHash("LnKmhDnislt7CSNHWCt60in%bbWW"))
            pictures[3].setImage(with: url, placeholder: .url(small))
            pictures[4].setImage(with: before) { _ in
                pictures[4].setImage(with: url, options: BindingOptions(whileLoading: .currentImage))
            }
        }
        let cells = zip(pictures, titles).map { captioned($0.widget, $1) }
        let parts = [controls(repetition.controls), repetition.axis.widget, flow(cells, columns: 3)]
        return PageContent(box(GTK_ORIENTATION_VERTICAL, parts), owner: repetition)
    }
}
