internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

extension Page {
    static let prefetching = Page(
        id: "prefetching",
        title: tr("Prefetching"),
        summary: tr(
            "Images are fetched before they are needed. Prefetching yields to visible images and pauses on a metered network."
        ),
        code: """
            let task = ImagePrefetcher.shared.prefetch(urls, to: .disk, progress: progress) { result in
                report("\\(result.loadedCount) loaded, \\(result.failedCount) failed, \\(result.cancelledCount) cancelled")
            }
            task.cancel()
            """
    ) { context in
        let bar = gtk_progress_bar_new()!
        setName(bar, tr("Progress"))
        let text = label(tr("Nothing has been fetched."))
        let strip = (0..<8).map { _ in sizedPicture(width: 120, height: 90) }
        var urls: [URL] = []
        var task: PrefetchTask?
        let start = { (destination: PrefetchDestination) in
            urls = (0..<40).map { context.fresh(context.server.names[$0 % context.server.names.count]) }
            setText(text, tr("Fetching …"))
            task = prefetch(urls, destination) { done, all in
                gtk_progress_bar_set_fraction(OpaquePointer(bar), Double(done) / Double(all))
            } report: {
                setText(text, $0)
            }
        }
        let show = {
            for (picture, url) in zip(strip, urls) {
                picture.setImage(with: url, placeholder: .icon("image-x-generic-symbolic"))
            }
        }
        let buttons = [
            button(tr("To memory and disk")) { start(.memoryAndDisk) }, button(tr("To disk")) { start(.disk) },
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
        _ destination: PrefetchDestination,
        progress: @escaping @MainActor @Sendable (Int, Int) -> Void,
        report: @escaping @MainActor @Sendable (String) -> Void
    ) -> PrefetchTask {
        ImagePrefetcher.shared.prefetch(urls, to: destination, progress: progress) { result in
            report("\(result.loadedCount) loaded, \(result.failedCount) failed, \(result.cancelledCount) cancelled")
        }
    }

    private static func sample(
        _ urls: [URL],
        progress: @escaping @MainActor @Sendable (Int, Int) -> Void,
        report: @escaping @MainActor @Sendable (String) -> Void
    ) {
        let task = ImagePrefetcher.shared.prefetch(urls, to: .disk, progress: progress) { result in
            report("\(result.loadedCount) loaded, \(result.failedCount) failed, \(result.cancelledCount) cancelled")
        }
        task.cancel()
    }
}
