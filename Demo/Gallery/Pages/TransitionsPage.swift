internal import CWebImageGtk4
import Foundation
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let transitions = Page(
        id: "transitions",
        title: tr("Transitions and indicators"),
        summary: tr(
            "How an image appears, and the indicator while it loads. Images from memory appear at once, and nothing moves while animations are turned off."
        ),
        uses: ["imageTransition", "imageIndicator", "(duration:", "ImageTransitioning"]
    ) { context in
        let duration = Slider(tr("Duration"), 100...2000, step: 50) { tr("%1 ms", Int($0)) }
        duration.value = 400
        let names = ["balloons.jpg", "moonlit-lake.jpg", "city-skyline.jpg"]
        let titles = transitions(0).map(\.0)
        let pictures = titles.map { _ in sizedPicture(width: 156, height: 117) }
        for picture in pictures { gtk_widget_add_css_class(picture.widget, "on-image") }
        var turn = 0
        let load = { [weak duration] in
            turn += 1
            let options = BindingOptions(
                whileLoading: .placeholderOrCurrentImage,
                display: .animated,
                awaitsTransition: true
            )
            for (picture, (_, transition, indicator)) in zip(pictures, transitions(duration?.value ?? 0)) {
                let url = context.fresh(names[turn % names.count], indicator == nil ? .normal : .drip)
                picture.imageTransition = transition
                picture.imageIndicator = indicator
                picture.setImage(with: url, placeholder: .color(ImageColor(0x241F31)), options: options)
            }
        }
        load()
        let cells = zip(pictures, titles).map { captioned($0.widget, $1) }
        let row = controls([button(tr("Next image"), load), duration.widget])
        return PageContent(box(GTK_ORIENTATION_VERTICAL, [row, flow(cells, columns: 4)]), owner: duration)
    }

    /// The transitions with their names, and an indicator for those whose image loads slowly.
    /// - Parameter milliseconds: The length of each transition.
    @MainActor
    private static func transitions(_ milliseconds: Double) -> [(String, ImageTransition?, ImageIndicator?)] {
        let duration = Duration.milliseconds(Int(milliseconds))
        return [
            (tr("Cross-fade, activity"), .crossfade(duration: duration), .activity),
            (tr("Slide, ring"), .slide(from: .right, duration: duration), .progress),
            (tr("Push, bar"), .slide(from: .bottom, pushesOutgoing: true, duration: duration), .bar),
            (tr("Uncover"), .uncover(duration: duration), nil),
            (tr("Flip"), .flip(duration: duration), nil),
            (tr("Zoom"), .zoom(duration: duration), nil),
            (tr("Swing, written by an app"), ImageTransition(SwingEffect(), duration: duration), nil),
            (tr("None"), nil, nil),
        ]
    }
}

/// Swings the incoming image down from its upper edge, past its place and back.
private struct SwingEffect: ImageTransitioning {
    func layers(at progress: Double) -> TransitionLayers {
        var layers = TransitionLayers()
        layers.incoming.tilt = -90 * cos(progress * 2.5 * .pi) * (1 - progress)
        layers.incoming.opacity = min(progress * 4, 1)
        return layers
    }
}
