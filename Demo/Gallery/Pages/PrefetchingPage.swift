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
            let task = ImagePrefetcher.shared.prefetch(requests, to: destination, progress: progress) { result in
                report(result)
            }
            task.cancel()
            """
    ) { context in
        let bar = gtk_progress_bar_new()!
        setName(bar, tr("Progress"))
        let text = label(tr("Nothing has been fetched."))
        let strip = (0..<8).map { _ in sizedPicture(width: 120, height: 90) }
        for picture in strip { picture.clearImage(placeholder: .icon("image-x-generic-symbolic")) }
        var urls: [URL] = []
        var task: PrefetchTask?
        let start = { (destination: PrefetchDestination) in
            task?.cancel()
            urls = (0..<40).map { context.fresh(context.server.names[$0 % context.server.names.count]) }
            for picture in strip { picture.clearImage(placeholder: .icon("image-x-generic-symbolic")) }
            setText(text, tr("Fetching …"))
            let scale = Int(gtk_widget_get_scale_factor(bar))
            let size = PixelSize(width: 120 * scale, height: 90 * scale)
            task = prefetch(urls, sizeShown: size, to: destination) { done, all in
                gtk_progress_bar_set_fraction(OpaquePointer(bar), Double(done) / Double(all))
            } report: { result in
                // What was cancelled was not fetched.
                let share = Double(result.loadedCount) / Double(urls.count)
                gtk_progress_bar_set_fraction(OpaquePointer(bar), share)
                let counts = [
                    (tr("loaded"), result.loadedCount), (tr("failed"), result.failedCount),
                    (tr("cancelled"), result.cancelledCount),
                ]
                setText(text, counts.map { "\($0.0) \($0.1)" }.joined(separator: ", "))
            }
        }
        let show = {
            let sources = SourceCount(of: strip.count) { setText(text, $0) }
            for (picture, url) in zip(strip, urls) {
                picture.setImage(with: url, placeholder: .icon("image-x-generic-symbolic")) { sources.add($0) }
            }
        }
        let buttons = [
            button(tr("To memory and disk")) { start(.automatic) }, button(tr("To disk")) { start(.disk) },
            button(tr("Cancel")) { task?.cancel() }, button(tr("Show some of them"), show),
        ]
        return PageContent(
            box(GTK_ORIENTATION_VERTICAL, [controls(buttons), bar, text, flow(strip.map(\.widget), columns: 4)]),
            waitsFor: strip
        )
    }

    @MainActor
    private static func prefetch(
        _ urls: [URL],
        sizeShown: PixelSize,
        to destination: PrefetchDestination,
        progress: @escaping @MainActor @Sendable (Int, Int) -> Void,
        report: @escaping @MainActor @Sendable (PrefetchResult) -> Void
    ) -> PrefetchTask {
        let requests = urls.map { ImageRequest(url: $0, priority: .veryLow, decodeSize: .cover(sizeShown)) }
        let task = ImagePrefetcher.shared.prefetch(requests, to: destination, progress: progress) { result in
            report(result)
        }
        return task
    }

    @MainActor
    private static func sample(_ task: PrefetchTask) {
        task.cancel()
    }
}

/// Counts where images came from.
@MainActor
private final class SourceCount {
    private let total: Int
    private let show: (String) -> Void
    private var memory = 0
    private var disk = 0

    init(of total: Int, show: @escaping (String) -> Void) {
        (self.total, self.show) = (total, show)
    }

    func add(_ result: Result<ImageResponse, ImageError>) {
        switch try? result.get().source {
        case .memory: memory += 1
        case .disk: disk += 1
        default: break
        }
        show(tr("from memory %1, from disk %2, of %3", memory, disk, total))
    }
}
