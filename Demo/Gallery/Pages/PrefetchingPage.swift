internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let prefetching = Page(
        id: "prefetching",
        title: tr("Prefetching"),
        summary: tr(
            "Images are fetched before they are needed. Prefetching yields to visible images and pauses on a metered network."
        ),
        uses: ["ImagePrefetcher.", "ImageRequest(", "task?.cancel"]
    ) { context in
        let axis = TimeAxis(seconds: 8)
        // Owned, because what is fetched may arrive after the page is gone.
        let nothing = tr("Nothing has been fetched.")
        let text = OwnedWidget(label(nothing))
        let strip = (0..<8).map { _ in sizedPicture(width: 120, height: 90) }
        // Every image comes over a slow line, three at a time.
        let urls = context.server.names.prefix(24).map { context.server.storedURL($0, set: "prefetched", rate: 150) }
        var (preparation, task): (Task<Void, Never>?, PrefetchTask?)
        // The number of the present run. What comes of earlier ones is not shown.
        var run = 0
        let cancel = {
            preparation?.cancel()
            task?.cancel()
        }
        let start = { (destination: PrefetchDestination) in
            cancel()
            run += 1
            let number = run
            let progress: @MainActor @Sendable (Int, Int) -> Void = { done, all in
                guard number == run else { return }
                axis.mark()
                setText(text.widget, tr("%1 of %2", done, all))
            }
            let report: @MainActor @Sendable (PrefetchResult) -> Void = { result in
                guard number == run else { return }
                axis.end()
                let counts = [
                    (tr("loaded"), result.loadedCount), (tr("failed"), result.failedCount),
                    (tr("cancelled"), result.cancelledCount),
                ]
                setText(text.widget, counts.map { "\($0.0) \($0.1)" }.joined(separator: ", "))
            }
            for picture in strip { picture.clearImage(placeholder: .icon("image-x-generic-symbolic")) }
            setText(text.widget, tr("Fetching …"))
            let scale = Int(gtk_widget_get_scale_factor(text.widget))
            let sizeShown = PixelSize(width: 120 * scale, height: 90 * scale)
            preparation = Task {
                // They were perhaps fetched before.
                for url in urls { await ImageManager.shared.cache.remove(url) }
                guard !Task.isCancelled else {
                    if number == run { setText(text.widget, nothing) }
                    return
                }
                axis.begin()
                let requests = urls.map { ImageRequest(url: $0, priority: .veryLow, decodeSize: .cover(sizeShown)) }
                task = ImagePrefetcher.shared.prefetch(requests, to: destination, progress: progress) { result in
                    report(result)
                }
            }
        }
        let show = {
            axis.begin()
            var left = strip.count
            let sources = SourceCounts { setText(text.widget, "\(tr("The images came from")): \($0)") }
            for (picture, url) in zip(strip, urls) {
                picture.setImage(with: url, placeholder: .icon("image-x-generic-symbolic")) { result in
                    sources.add(result)
                    axis.mark()
                    left -= 1
                    if left == 0 { axis.end() }
                }
            }
        }
        let buttons = [
            button(tr("To memory and disk")) { start(.automatic) }, button(tr("To disk")) { start(.disk) },
            button(tr("Cancel"), cancel), button(tr("Show some of them"), show),
        ]
        for picture in strip { picture.clearImage(placeholder: .icon("image-x-generic-symbolic")) }
        let parts = [controls(buttons), axis.widget, text.widget, flow(strip.map(\.widget), columns: 4)]
        return PageContent(box(GTK_ORIENTATION_VERTICAL, parts), owner: axis)
    }
}
