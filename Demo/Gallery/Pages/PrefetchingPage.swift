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
        code: """
            let requests = urls.map { ImageRequest(url: $0, priority: .veryLow, decodeSize: .cover(sizeShown)) }
            task = ImagePrefetcher.shared.prefetch(requests, to: destination, progress: progress) { result in
                report(result)
            }
            task?.cancel()
            """
    ) { context in
        let axis = TimeAxis(seconds: 8)
        // Owned, because what is fetched may arrive after the page is gone.
        let text = OwnedWidget(label(tr("Nothing has been fetched.")))
        let strip = (0..<8).map { _ in sizedPicture(width: 120, height: 90) }
        // Every image comes over a slow line, three at a time.
        let urls = context.server.names.prefix(24).map { context.server.storedURL($0, set: "prefetched", rate: 150) }
        var task: PrefetchTask?
        let progress: @MainActor @Sendable (Int, Int) -> Void = { done, all in
            axis.mark()
            setText(text.widget, tr("%1 of %2", done, all))
        }
        let report: @MainActor @Sendable (PrefetchResult) -> Void = { result in
            axis.end()
            let counts = [
                (tr("loaded"), result.loadedCount), (tr("failed"), result.failedCount),
                (tr("cancelled"), result.cancelledCount),
            ]
            setText(text.widget, counts.map { "\($0.0) \($0.1)" }.joined(separator: ", "))
        }
        let start = { (destination: PrefetchDestination) in
            task?.cancel()
            for picture in strip { picture.clearImage(placeholder: .icon("image-x-generic-symbolic")) }
            setText(text.widget, tr("Fetching …"))
            let scale = Int(gtk_widget_get_scale_factor(text.widget))
            let sizeShown = PixelSize(width: 120 * scale, height: 90 * scale)
            Task {
                // They were perhaps fetched before.
                for url in urls { await ImageManager.shared.cache.remove(url) }
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
        let cancel = { () -> Void in
            task?.cancel()
        }
        let buttons = [
            button(tr("To memory and disk")) { start(.automatic) }, button(tr("To disk")) { start(.disk) },
            button(tr("Cancel"), cancel), button(tr("Show some of them"), show),
        ]
        for picture in strip { picture.clearImage(placeholder: .icon("image-x-generic-symbolic")) }
        return PageContent(
            box(
                GTK_ORIENTATION_VERTICAL,
                [controls(buttons), axis.widget, text.widget, flow(strip.map(\.widget), columns: 4)]
            ),
            waitsFor: strip,
            owner: axis
        )
    }
}
