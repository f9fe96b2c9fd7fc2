internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let progressive = Page(
        id: "progressive",
        title: tr("Progressive loading"),
        summary: tr(
            "The same file over the same slow connection. The left image appears as it arrives, the right one only when it is complete."
        ),
        uses: ["imageIndicator", ".progressive", "partial: count"]
    ) { context in
        let names = ["balloons.jpg", "stained-glass.png", "mushroom.webp", "truchet-tiles.gif"]
        var name = names[0]
        let rate = Slider(tr("Speed"), 12...100, step: 1) { "\(Int($0)) kB/s" }
        rate.value = 25
        let titles = [tr("progressive"), tr("complete")]
        let pictures = titles.map { _ in sizedPicture(width: 300, height: 220, covers: false) }
        let captions = titles.map { _ in label("", "caption", "numeric") }
        // The PNG has 266 kB.
        let repetition = Repetition(of: pictures, seconds: 11) { [weak rate] axis in
            for (index, picture) in pictures.enumerated() {
                let tell = { setText(captions[index], tr("%1, partial images: %2", titles[index], $0)) }
                var partialImages = 0
                tell(partialImages)
                let url = context.slow(name, rate: Int(rate?.value ?? 0))
                let count: @MainActor @Sendable (WebImage) -> Void = { _ in
                    partialImages += 1
                    tell(partialImages)
                    axis.mark()
                }
                picture.imageIndicator = .progress
                var request = ImageRequest(url: url, decodeSize: .original)
                if index == 0 {
                    request.loading = .progressive
                }
                picture.setImage(with: request, partial: count)
            }
        }
        let choice = dropDown(["JPEG", "PNG", "WebP", "GIF"]) { [weak repetition] number in
            name = names[number]
            repetition?.start()
        }
        setName(choice, tr("Format"))
        rate.onChange = { [weak repetition] _ in repetition?.start() }
        let cells = zip(pictures, captions).map {
            box(GTK_ORIENTATION_VERTICAL, spacing: 6, [fixed($0.widget), $1])
        }
        let row = controls([choice, rate.widget] + repetition.controls)
        let parts = [row, repetition.axis.widget, flow(cells, columns: 2)]
        return PageContent(box(GTK_ORIENTATION_VERTICAL, parts), owner: [rate, repetition] as AnyObject)
    }
}
