internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let animation = Page(
        id: "animation",
        title: tr("Animation"),
        summary: tr(
            "GIF, APNG, WebP and JPEG XL play while they are on screen. Frames keep to the clock; late frames are skipped."
        ),
        uses: ["playback.", "player?.", "onFrame"]
    ) { context in
        let files = [
            ("bouncing-ball.gif", context.fresh("bouncing-ball.gif")), ("pinwheel.gif", context.fresh("pinwheel.gif")),
            ("day-and-night.webp", context.fresh("day-and-night.webp")),
            ("day-and-night.png (APNG)", context.fresh("day-and-night.webp", .apng)),
            ("bouncing-ball.jxl", context.fresh("formats/bouncing-ball.jxl")),
        ]
        let pictures = files.map { _ in Picture() }
        let cells = zip(pictures, files).map { cell($0, name: $1.0, $1.1) }
        let all = { (body: (ImageBinding) -> Void) in pictures.map(\.imageBinding).forEach(body) }
        let play = button(icon: "media-playback-start-symbolic", tr("Play")) { all { $0.player?.play() } }
        let pause = button(icon: "media-playback-pause-symbolic", tr("Pause")) { all { $0.player?.pause() } }
        let stop = button(icon: "media-playback-stop-symbolic", tr("Stop")) { all { $0.player?.stop() } }
        let step = button(icon: "media-skip-forward-symbolic", tr("Next frame")) {
            all { $0.player?.step() }
        }
        let rates = [0.25, 0.5, 1, 2, 4]
        let rate = dropDown(rates.map { "\(Page.number($0, digits: 2, padded: false))×" }) { number in
            all { $0.playback.rate = rates[number] }
        }
        gtk_drop_down_set_selected(OpaquePointer(rate), 2)
        setName(rate, tr("Speed"))
        let modes: [ImagePlayback.Mode] = [.normal, .reverse, .bounce, .reversedBounce]
        let mode = dropDown([tr("Forwards"), tr("Backwards"), tr("Forwards and back"), tr("Backwards and forwards")]) {
            number in
            all { $0.playback.mode = modes[number] }
        }
        setName(mode, tr("Direction"))
        let row = controls([play, pause, stop, step, rate, mode])
        return PageContent(box(GTK_ORIENTATION_VERTICAL, [row, flow(cells, columns: 4)]))
    }

    /// Makes a cell with an animation, and a slider that shows and sets its frame.
    @MainActor
    private static func cell(_ picture: Picture, name: String, _ url: URL) -> Widget {
        gtk_widget_set_size_request(picture.widget, 152, 114)
        picture.setImageDescription(name)
        let cell = captioned(picture.widget, name)
        picture.setImage(with: url) { [weak picture] result in
            if case .failure(let error) = result {
                let remedy = label(error.remedy, "caption", "dim-label")
                gtk_label_set_max_width_chars(OpaquePointer(remedy), 18)
                append(remedy, to: cell)
            }
            guard let player = picture?.imageBinding.player else { return }
            let count = player.frameCount
            let slider = Slider(tr("Frame"), 0...Double(count - 1), step: 1, width: 152) {
                "\(Int($0) + 1) / \(count)"
            }
            slider.onChange = { [weak player] value in
                player?.pause()
                player?.seek(to: Int(value))
            }
            // The player keeps the slider alive.
            player.onFrame = { slider.value = Double($0) }
            append(slider.widget, to: cell)
        }
        return cell
    }
}
