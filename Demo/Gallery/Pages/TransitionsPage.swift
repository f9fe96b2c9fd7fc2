internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let transitions = Page(
        id: "transitions",
        title: tr("Transitions and indicators"),
        summary: tr(
            "How an image appears, and the indicator while it loads. Images from memory appear at once, and nothing moves while animations are turned off."
        ),
        code: """
            picture.imageTransition = .crossfade(duration: .milliseconds(400))
            picture.imageIndicator = .activity
            picture.setImage(with: url, options: BindingOptions(display: .animated))
            """
    ) { context in
        let ways: [(String, ImageTransition, ImageIndicator?)] = [
            (tr("Cross-fade, activity"), .crossfade(duration: .milliseconds(400)), .activity),
            (tr("Slide, ring"), .slide(from: .right, duration: .milliseconds(400)), .progress),
            (tr("Push, bar"), .slide(from: .bottom, pushesOutgoing: true, duration: .milliseconds(400)), .bar),
            (tr("Flip"), .flip(duration: .milliseconds(600)), nil),
            (tr("Zoom"), .zoom(duration: .milliseconds(400)), nil),
        ]
        let names = ["balloons.jpg", "misty-forest.jpg", "city-skyline.jpg"]
        let pictures = ways.map { _ in sizedPicture(width: 200, height: 150) }
        var turn = 0
        let load = {
            turn += 1
            for (picture, way) in zip(pictures, ways) {
                let url = context.fresh(names[turn % names.count], way.2 == nil ? .normal : .drip)
                show(url, in: picture, transition: way.1, indicator: way.2)
            }
        }
        load()
        let cells = zip(pictures, ways).map { captioned($0.widget, $1.0) }
        return PageContent(
            box(GTK_ORIENTATION_VERTICAL, [controls([button(tr("Next image"), load)]), flow(cells, columns: 3)]),
            waitsFor: pictures
        )
    }

    @MainActor
    private static func show(
        _ url: URL,
        in picture: Picture,
        transition: ImageTransition,
        indicator: ImageIndicator?
    ) {
        picture.imageTransition = transition
        picture.imageIndicator = indicator
        picture.setImage(
            with: url,
            options: BindingOptions(
                whileLoading: .placeholderOrCurrentImage,
                display: .animated,
                awaitsTransition: true
            )
        )
    }

    @MainActor
    private static func sample(_ picture: Picture, _ url: URL) {
        picture.imageTransition = .crossfade(duration: .milliseconds(400))
        picture.imageIndicator = .activity
        picture.setImage(with: url, options: BindingOptions(display: .animated))
    }
}
