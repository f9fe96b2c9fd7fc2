internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let animation = Page(
        id: "animation",
        title: tr("Animation"),
        summary: tr(
            "GIF, APNG and WebP play while they are on screen. Frames keep to the clock; late frames are skipped."
        ),
        code: """
            picture.imagePlayback.rate = 2
            picture.imagePlayback.mode = .bounce
            picture.setImage(with: url)
            picture.animationPlayer?.pause()
            picture.animationPlayer?.step()
            """
    ) { context in
        let names = ["bouncing-ball.gif", "pinwheel.gif", "day-and-night.webp", "pixel-sunset.gif", "koi-pond.webp"]
        let pictures = names.map { _ in Picture() }
        for (picture, name) in zip(pictures, names) {
            gtk_widget_set_size_request(picture.widget, 200, 150)
            picture.setImageDescription(name)
            picture.setImage(with: context.fresh(name))
        }
        let all = { (body: (Picture) -> Void) in pictures.forEach(body) }
        let play = button(icon: "media-playback-start-symbolic", tr("Play")) { all { $0.animationPlayer?.play() } }
        let pause = button(icon: "media-playback-pause-symbolic", tr("Pause")) { all { $0.animationPlayer?.pause() } }
        let stop = button(icon: "media-playback-stop-symbolic", tr("Stop")) { all { $0.animationPlayer?.stop() } }
        let step = button(icon: "media-skip-forward-symbolic", tr("Next frame")) {
            all { $0.animationPlayer?.step() }
        }
        let rates = [1, 0.25, 0.5, 2, 4]
        let rate = dropDown(rates.map { "\($0)×" }) { number in all { $0.imagePlayback.rate = rates[number] } }
        setName(rate, tr("Speed"))
        let modes: [PlaybackMode] = [.normal, .reverse, .bounce, .reversedBounce]
        let mode = dropDown([tr("Forwards"), tr("Backwards"), tr("Forwards and back"), tr("Backwards and forth")]) {
            number in
            all { $0.imagePlayback.mode = modes[number] }
        }
        setName(mode, tr("Order of the frames"))
        let cells = zip(pictures, names).map { captioned($0.widget, $1) }
        return PageContent(
            box(GTK_ORIENTATION_VERTICAL, [controls([play, pause, stop, step, rate, mode]), flow(cells, columns: 4)]),
            waitsFor: pictures
        )
    }

    @MainActor
    private static func sample(_ picture: Picture, _ url: URL) {
        picture.imagePlayback.rate = 2
        picture.imagePlayback.mode = .bounce
        picture.setImage(with: url)
        picture.animationPlayer?.pause()
        picture.animationPlayer?.step()
    }
}
