import ArgumentParser
internal import CWebImageGtk4
import Foundation
import GtkWebImage
import GtkWebImageWidgets
import TestSupport
import WebImageCore
import WebImageTesting

/// Measures pages of many animations in a window with a frame clock, each page in a process of its own.
struct Pages: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Pages of 9 and 36 animations, some of them scrolled out of view: frames shown, CPU time, memory."
    )

    @Option(help: "The duration of each measurement in seconds.")
    var seconds = 10.0
    @Option(help: "A file that all animations of a page are copies of. Such a page is measured in this process.")
    var file: String?
    @Option(help: "The number of animations, with --file.")
    var count = 36
    @Option(help: DecodingMode.help)
    var decoding = DecodingMode.sandboxed

    func run() throws {
        // ArgumentParser calls run() on the main thread.
        try MainActor.assumeIsolated { if let file { try measure(file) } else { try compare() } }
    }

    private func compare() throws {
        let folder = TemporaryDirectory()
        _ = try Animation.gif(in: folder.path)
        _ = try Animation.webp(in: folder.path)
        for format in ["gif", "webp"] {
            var pages: [Page] = []
            for count in [9, 36] {
                let arguments = [
                    "pages", "--seconds", "\(seconds)", "--file", "\(folder.path)/animation.\(format)",
                    "--count", "\(count)", "--decoding", decoding.rawValue,
                ]
                let result = try ChildProcess.run(CommandLine.arguments[0], arguments, seconds: 120 + seconds * 2)
                guard result.exitCode == 0, let page = Page(result.output) else {
                    throw ValidationError("The page of \(count) \(format) files ended early: \(result.output)")
                }
                pages.append(page)
                print("\(format), \(decoding), \(page)")
            }
            let (few, many) = (pages[0], pages[1])
            Limits.check("\(format), frames of players out of view", Double(many.framesOutOfView), atMost: 0)
            // WebP takes most of two processors, so that its frames depend on what else the machine does.
            if format == "gif" {
                let missed = 1 - Double(many.median) / Double(max(few.median, 1))
                Limits.check("gif, frames that a page of 36 shows less, median", missed, atMost: 0.1)
            }
            Limits.check("\(format), CPU time a frame, 36 to 9", many.cpuPerFrame / few.cpuPerFrame, atMost: 1.5)
        }
    }

    @MainActor
    private func measure(_ file: String) throws {
        let data = try Data(contentsOf: URL(filePath: file))
        let display = try XvfbDisplay.start()
        defer { display.stop() }
        display.exportEnvironment()
        setenv("GSK_RENDERER", "cairo", 1)
        guard gtk_init_check() != 0 else { throw ValidationError("GTK finds no display. Install xvfb.") }
        let server = try LocalImageServer { _ in
            .ok(data, contentType: file.hasSuffix("webp") ? "image/webp" : "image/gif")
        }
        let folder = TemporaryDirectory()
        var configuration = ImageManager.Configuration()
        configuration.diskCache = ImageManager.Configuration.DiskCache(directory: folder.path)
        configuration.decoding = decoding.configuration
        ImageManager.shared = ImageManager(configuration: configuration)
        let wall = Wall(count: count)
        var failures: [any Error] = []
        var loadedCount = 0
        for (index, picture) in wall.pictures.enumerated() {
            picture.setImage(
                with: server.url("/\(index)"),
                completion: { result in
                    loadedCount += 1
                    if case .failure(let error) = result { failures.append(error) }
                }
            )
        }
        _ = MainLoopPump.run(until: { loadedCount == count }, timeout: .seconds(60))
        guard failures.isEmpty, loadedCount == count else {
            throw ValidationError("\(loadedCount) of \(count) animations are there: \(failures)")
        }
        // Players that nobody sees have the time to notice.
        Self.wait(2)
        wall.startCounting()
        let start = OwnProcess.cpuSeconds
        Self.wait(seconds)
        let cpu = OwnProcess.cpuSeconds - start
        print(Page(wall, cpuSeconds: cpu, megabytes: Int(OwnProcess.memory)))
    }

    @MainActor
    private static func wait(_ seconds: Double) {
        let end = ContinuousClock.now + .seconds(seconds)
        _ = MainLoopPump.run(until: { ContinuousClock.now >= end }, timeout: .seconds(seconds * 2 + 10))
    }
}

/// A window with a scrolled grid of five columns, of which five rows are in view.
@MainActor
private final class Wall {
    let pictures: [Picture]
    /// The frames that the window has shown of each player in view, and those that the others have played.
    private(set) var shownCounts: [Int]
    private(set) var countOutOfView = 0
    private var last: [Int]
    private let window: UnsafeMutablePointer<GtkWidget>

    static let columnCount = 5
    static let countInView = 25

    init(count: Int) {
        pictures = (0..<count).map { _ in Picture() }
        let countInView = min(count, Self.countInView)
        shownCounts = Array(repeating: 0, count: countInView)
        last = Array(repeating: -1, count: countInView)
        window = gtk_window_new()
        let (scrolled, grid) = (gtk_scrolled_window_new()!, gtk_grid_new()!)
        gtk_scrolled_window_set_policy(OpaquePointer(scrolled), GTK_POLICY_NEVER, GTK_POLICY_ALWAYS)
        gtk_widget_set_halign(grid, GTK_ALIGN_START)
        gtk_widget_set_valign(grid, GTK_ALIGN_START)
        for (index, picture) in pictures.enumerated() {
            let widget = picture.nativeWidgetPointer.assumingMemoryBound(to: GtkWidget.self)
            gtk_widget_set_size_request(widget, 160, 120)
            let (row, column) = index.quotientAndRemainder(dividingBy: Self.columnCount)
            gtk_grid_attach(
                UnsafeMutableRawPointer(grid).assumingMemoryBound(to: GtkGrid.self),
                widget,
                Int32(column),
                Int32(row),
                1,
                1
            )
        }
        gtk_scrolled_window_set_child(OpaquePointer(scrolled), grid)
        let native = UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_child(native, scrolled)
        gtk_window_set_decorated(native, 0)
        gtk_window_set_default_size(native, 820, 600)
        gtk_window_present(native)
    }

    func startCounting() {
        for picture in pictures.dropFirst(Self.countInView) {
            picture.imageBinding.player?.onFrame = { [weak self] _ in self?.countOutOfView += 1 }
        }
        let callback: @convention(c) (gpointer, gpointer) -> Void = { _, wall in
            let wall = Unmanaged<Wall>.fromOpaque(wall).takeUnretainedValue()
            MainActor.assumeIsolated { wall.didPaint() }
        }
        g_signal_connect_data(
            UnsafeMutableRawPointer(gtk_widget_get_frame_clock(window)!),
            "after-paint",
            unsafeBitCast(callback, to: GCallback.self),
            Unmanaged.passRetained(self).toOpaque(),
            nil,
            GConnectFlags(rawValue: 0)
        )
    }

    private func didPaint() {
        for index in shownCounts.indices {
            guard let frame = pictures[index].imageBinding.player?.currentFrameIndex, frame != last[index] else {
                continue
            }
            if last[index] >= 0 { shownCounts[index] += 1 }
            last[index] = frame
        }
    }
}

/// What one page showed, and what it took.
private struct Page: CustomStringConvertible {
    let count: Int
    let countInView: Int
    let least: Int
    let median: Int
    let shown: Int
    let framesOutOfView: Int
    let cpuSeconds: Double
    let megabytes: Int

    var cpuPerFrame: Double { cpuSeconds / Double(max(shown, 1)) }

    @MainActor
    init(_ wall: Wall, cpuSeconds: Double, megabytes: Int) {
        count = wall.pictures.count
        countInView = wall.shownCounts.count
        least = wall.shownCounts.min() ?? 0
        median = Int(Rounds.median(wall.shownCounts.map(Double.init)))
        shown = wall.shownCounts.reduce(0, +)
        framesOutOfView = wall.countOutOfView
        self.cpuSeconds = cpuSeconds
        self.megabytes = megabytes
    }

    /// Reads what `description` says.
    init?(_ output: String) {
        let numbers = output.split(separator: "\n").last?.split { !$0.isNumber && $0 != "." }.compactMap {
            Double($0)
        }
        guard let numbers, numbers.count == 8 else { return nil }
        (count, countInView) = (Int(numbers[0]), Int(numbers[1]))
        (median, least, shown) = (Int(numbers[2]), Int(numbers[3]), Int(numbers[4]))
        framesOutOfView = Int(numbers[5])
        (cpuSeconds, megabytes) = (numbers[6], Int(numbers[7]))
    }

    var description: String {
        """
        \(count) animations, \(countInView) in view: \(median) frames each (\(least) at least, \(shown) in all), \
        \(framesOutOfView) out of view; \(Rounds.format(cpuSeconds)) CPU s, \(megabytes) MB
        """
    }
}
