import ArgumentParser
import CAllocationCounter
internal import CWebImageGtk4
import Foundation
import GtkWebImage
import TestSupport
import WebImageTesting

/// Measures whether an item costs the same in large amounts as in small ones.
struct Scale: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Cost per item as the work grows: queued loads, entries on disk, bound widgets."
    )

    @Option(help: "The largest number of loads queued at a time. The others are a tenth, a hundredth and so on of it.")
    var loads = 100_000
    @Option(help: "The largest number of entries on disk.")
    var entries = 200_000
    @Option(help: "The largest number of widgets.")
    var widgets = 10_000
    @Option(help: "The number of rounds.")
    var rounds = 3
    @Option(help: "A file for a chart of the costs (SVG).")
    var chart: String?

    private static let file = TestImage.solid(0x336699, size: PixelSize(width: 16, height: 12))

    func run() throws {
        try Broadway.run {
            let series = [
                try measure("queued loads", upTo: loads, queued),
                try measure("entries on disk, loads of a thousand", upTo: entries, stored),
                try measure("bound widgets, time of the main thread", upTo: widgets, bound),
            ]
            if let chart { try ScaleChart(series).text.write(toFile: chart, atomically: true, encoding: .utf8) }
        }
    }

    /// The microseconds that each item takes, for amounts that grow tenfold.
    @MainActor
    private func measure(_ name: String, upTo limit: Int, _ body: (Int) throws -> Double) throws -> ScaleChart.Series {
        var amounts = [limit]
        while let last = amounts.last, last >= 1000 { amounts.append(last / 10) }
        var series = ScaleChart.Series(name: name)
        for amount in amounts.reversed() {
            let times = try (0..<rounds).map { _ in try body(amount) }
            series.points.append((amount, Rounds.median(times)))
            print("\(amount) \(name): \(Rounds.format(Rounds.median(times))) us each")
        }
        // The smallest amounts pay for threads that start.
        if let few = series.points.first(where: { $0.amount >= 1000 }), let most = series.points.last {
            Limits.check("\(name), most to a thousand", most.microseconds / few.microseconds, atMost: 2)
        }
        return series
    }

    /// The time until that many small images, which are all requested at once, have been loaded.
    @MainActor
    private func queued(_ count: Int) -> Double {
        let loader = FakeLoader()
        let urls = Self.urls(count)
        for url in urls { loader.answer(url, with: Self.file) }
        // Each is loaded, decoded and delivered.
        let manager = ImageManager.testing(loader) { $0.maximumMemoryCacheByteCount = 0 }
        return Self.load(urls, with: manager)
    }

    /// The time until a thousand images of a cache with that many entries have been loaded.
    @MainActor
    private func stored(_ count: Int) throws -> Double {
        let folder = TemporaryDirectory()
        let urls = Self.urls(count)
        let disk = DiskCache(
            directory: "\(folder.path)/\(DiskCacheLayout.Section.originals.directoryName)",
            limits: DiskLimits(sizeLimit: .max / 8),
            hashes: .standard
        )
        for (index, url) in urls.enumerated() {
            disk.store(CacheEntry(key: url.absoluteString, data: Self.file, storedAt: Date()))
            if index % 1000 == 999 { disk.flush() }
        }
        disk.flush()
        let manager = ImageManager.testing(FakeLoader()) { configuration in
            configuration.maximumMemoryCacheByteCount = 0
            configuration.diskCache = .init(directory: folder.path)
            configuration.diskCache?.maximumByteCount = 1 << 40
        }
        let wanted = stride(from: 0, to: count, by: max(count / 1000, 1)).map { urls[$0] }
        return Self.load(wanted, with: manager)
    }

    /// The library's time on the main thread until that many widgets in a window show an image. That of GTK grows with the number of
    /// widgets, each of which it looks at for each frame.
    @MainActor
    private func bound(_ count: Int) -> Double {
        let loader = FakeLoader()
        let urls = Self.urls(count)
        for url in urls { loader.answer(url, with: Self.file) }
        ImageManager.shared = .testing(loader)
        let window = UnsafeMutableRawPointer(gtk_window_new()!).assumingMemoryBound(to: GtkWindow.self)
        let grid = UnsafeMutableRawPointer(gtk_grid_new()!).assumingMemoryBound(to: GtkGrid.self)
        let pictures = (0..<count).map { index in
            let picture = gtk_picture_new()!
            gtk_widget_set_size_request(picture, 16, 12)
            gtk_grid_attach(grid, picture, Int32(index % 100), Int32(index / 100), 1, 1)
            return picture
        }
        let scrolled = OpaquePointer(gtk_scrolled_window_new()!)
        gtk_scrolled_window_set_child(scrolled, UnsafeMutableRawPointer(grid).assumingMemoryBound(to: GtkWidget.self))
        gtk_window_set_child(window, UnsafeMutableRawPointer(scrolled).assumingMemoryBound(to: GtkWidget.self))
        gtk_window_present(window)
        _ = MainLoopPump.run(until: { pictures.allSatisfy { gtk_widget_get_mapped($0) != 0 } }, timeout: .seconds(60))
        var missing = count
        MainThreadMeter.start()
        for (picture, url) in zip(pictures, urls) {
            _ = MainThreadMeter.measure { WidgetPointer(picture).setImage(with: url) { _ in missing -= 1 } }
        }
        _ = MainLoopPump.run(until: { missing == 0 }, timeout: .seconds(300))
        let seconds = MainThreadMeter.take()
        gtk_window_destroy(window)
        return seconds * 1e6 / Double(count)
    }

    private static func urls(_ count: Int) -> [URL] {
        (0..<count).map { URL(string: "https://example.org/some/folder/\($0).png")! }
    }

    @MainActor
    private static func load(_ urls: [URL], with manager: ImageManager) -> Double {
        var missing = urls.count
        let time = ContinuousClock().measure {
            for url in urls {
                manager.load(url) { result in
                    if case .failure(let error) = result { preconditionFailure("\(error)") }
                    MainActor.assumeIsolated { missing -= 1 }
                }
            }
            _ = MainLoopPump.run(until: { missing == 0 }, timeout: .seconds(300))
        }
        return time / .microseconds(1) / Double(urls.count)
    }
}
