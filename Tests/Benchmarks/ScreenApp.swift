import ArgumentParser
internal import CWebImageGtk4
import Foundation
import GtkWebImage
import WebImageCore
import WebImageLinux
import WebImageTesting

/// An app with a GtkPicture for each image in a scrolled flow of four columns: the same window as that of Tests/Rivals/screen.h.
@MainActor
final class ScreenApp {
    /// What is loaded, and how.
    struct Load {
        var urls: [URL]
        /// The size of the widgets.
        var size: PixelSize
        /// The folder of the disk cache; `nil`: none.
        var cache: String?
        var authorityFile = ""
        var isFullSize = false
        var showsPartialImages = false
        var printsTimeline = false
        var decoding = DecodingMode.sandboxed
    }

    private let load: Load
    private let pictures: [WidgetPointer]
    private var done = 0
    private var firstDone = 0
    private var failure: ImageError?

    init(_ load: Load) throws {
        guard gtk_init_check() != 0 else { throw ValidationError("GTK finds no display. Install xvfb.") }
        self.load = load
        let window = UnsafeMutableRawPointer(gtk_window_new()!).assumingMemoryBound(to: GtkWindow.self)
        let (scrolled, flow) = (gtk_scrolled_window_new()!, gtk_flow_box_new()!)
        gtk_scrolled_window_set_policy(OpaquePointer(scrolled), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        gtk_flow_box_set_min_children_per_line(OpaquePointer(flow), 4)
        gtk_flow_box_set_max_children_per_line(OpaquePointer(flow), 4)
        gtk_flow_box_set_selection_mode(OpaquePointer(flow), GTK_SELECTION_NONE)
        gtk_widget_set_valign(flow, GTK_ALIGN_START)
        pictures = load.urls.map { _ in
            let picture = gtk_picture_new()!
            gtk_picture_set_can_shrink(OpaquePointer(picture), 1)
            gtk_widget_set_size_request(picture, Int32(load.size.width), Int32(load.size.height))
            gtk_flow_box_insert(OpaquePointer(flow), picture, -1)
            return WidgetPointer(picture)
        }
        gtk_scrolled_window_set_child(OpaquePointer(scrolled), flow)
        gtk_window_set_child(window, scrolled)
        gtk_window_set_decorated(window, 0)
        var width: Int32 = 0
        gtk_widget_measure(flow, GTK_ORIENTATION_HORIZONTAL, -1, &width, nil, nil, nil)
        gtk_window_set_default_size(window, width, 800)
        gtk_window_present(window)
    }

    /// Loads all images once the window rests.
    func run() throws -> LoadFigures {
        // An app has its manager, and the manager its workers, before most windows. `startup` measures the first image of an app.
        let manager = makeManager()
        ImageManager.shared = manager
        Self.wait(.milliseconds(700))
        var figures = LoadFigures()
        LoopTurns.begin()
        let (memory, resident) = (OwnProcess.memory, OwnProcess.megabytes("VmRSS"))
        let (start, cpu) = (ContinuousClock.now, OwnProcess.cpuSeconds)
        let firstCount = min(16, pictures.count)
        let timeline = load.printsTimeline ? ScreenTimeline(load.urls.prefix(firstCount), of: manager) : nil
        for (index, picture) in pictures.enumerated() {
            var request = ImageRequest(url: load.urls[index])
            if load.isFullSize { request.decodeSize = .original }
            if load.showsPartialImages { request.loading = .progressive }
            let completion: @MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void = { [self] result in
                if case .failure(let error) = result { failure = error }
                done += 1
                if index < firstCount { firstDone += 1 }
                if index < firstCount, firstDone == firstCount { figures.first = (.now - start) / .seconds(1) }
                guard done == pictures.count else { return }
                figures.wall = (.now - start) / .seconds(1)
                figures.cpu = OwnProcess.cpuSeconds - cpu
            }
            _ = MainThreadMeter.measure { picture.setImage(with: request, completion: completion) }
        }
        // The app has called for all of them in one turn.
        figures.bind = MainThreadMeter.take() * 1e6 / Double(pictures.count)
        let isDone = MainLoopPump.run(until: { done == pictures.count }, timeout: .seconds(200))
        // The last image is drawn in a later turn.
        Self.wait(.milliseconds(200))
        let (turns, longestOwn) = LoopTurns.end()
        figures.memory = OwnProcess.memory - memory
        figures.peak = OwnProcess.megabytes("VmHWM")
        figures.peakAboveStart = figures.peak - resident
        (figures.turn, figures.ownTurn) = (turns.max() ?? 0, longestOwn)
        _ = MainLoopPump.run(until: { manager.pendingWorkCount == 0 })
        figures.cpuInAll = OwnProcess.cpuSeconds - cpu
        timeline?.printSteps(since: start)
        guard isDone, failure == nil else {
            throw ValidationError("\(done) of \(pictures.count) images are there: \(failure.map { "\($0)" } ?? "")")
        }
        return figures
    }

    private func makeManager() -> ImageManager {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = load.cache.map { ImageManager.Configuration.DiskCache(directory: $0) }
        configuration.diskCache?.maximumByteCount = 2_000_000_000
        var downloader = ImageDownloader.Configuration()
        if !load.authorityFile.isEmpty { downloader.certificateAuthorityFile = load.authorityFile }
        configuration.downloader = ImageDownloader(configuration: downloader)
        configuration.decoding = load.decoding.configuration
        return ImageManager(configuration: configuration)
    }

    private static func wait(_ duration: Duration) {
        let end = ContinuousClock.now + duration
        _ = MainLoopPump.run(until: { ContinuousClock.now >= end })
    }
}
