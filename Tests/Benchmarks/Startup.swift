import ArgumentParser
internal import CWebImageGtk4
import Foundation
import GtkWebImage
import GtkWebImageWidgets
import TestSupport
import WebImageCore
import WebImageTesting

/// Measures what the library adds to the start of an app, each start in a process of its own.
struct Startup: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The start of an app: time and memory until the first image is on screen, beside an empty window."
    )

    @Option(help: "The number of rounds.")
    var rounds = 9
    @Option(help: "Starts once, in this process, with the image at this URL, or with an empty window: none.")
    var image: String?
    @Flag(help: "GTK decodes the image, a file, on the main thread, with --image.")
    var plain = false
    @Option(help: "The folder of the disk cache, with --image.")
    var cache = ""
    @Option(help: DecodingMode.help)
    var decoding = DecodingMode.sandboxed

    func run() throws {
        // ArgumentParser calls run() on the main thread.
        try MainActor.assumeIsolated { if let image { try start(with: image) } else { try compare() } }
    }

    private func compare() throws {
        print("\(decoding), \(rounds) rounds")
        let mode = ["--decoding", decoding.rawValue]
        let folder = TemporaryDirectory()
        let file = folder.path + "/first.jpg"
        try Photograph.jpeg(seed: 1).write(to: URL(filePath: file))
        let starts = try measure { url in
            [
                ("empty window", ["none"], false), ("plain GTK", [file, "--plain"], false),
                ("cold", [url] + mode, true), ("warm", [url] + mode, true),
            ]
        }
        let empty = Start.median(starts["empty window"] ?? [])
        for name in ["empty window", "plain GTK", "cold", "warm"] {
            let start = Start.median(starts[name] ?? [])
            print("\(name): \(start)")
            guard name != "empty window", name != "plain GTK" else { continue }
            Limits.check("\(name) start, main thread before the first load, ms", start.setupTime, atMost: 10)
            Limits.check("\(name) start, memory before the first load, MB", start.setupMemory, atMost: 5)
            let more = Rounds.format(start.shownAfter - empty.shownAfter)
            print("    the image is on screen \(more) ms after the empty window")
        }
        let (warm, plain) = (starts["warm"] ?? [], starts["plain GTK"] ?? [])
        let least = (warm.map(\.shownAfter).min() ?? 0) - (plain.map(\.shownAfter).min() ?? 0)
        let median = Start.median(warm).shownAfter - Start.median(plain).shownAfter
        print("warm, after plain GTK: \(Rounds.format(least)) ms (minimum), \(Rounds.format(median)) ms (median)")
    }

    /// How many milliseconds later the first image of an app is there when it is decoded in a worker.
    func compareDecoding() throws -> Double {
        let modes = [DecodingMode.inProcess, .sandboxed]
        // A decode in a worker is compared with one of the same file, not of its rendition.
        let starts = try measure { url in modes.map { ($0.rawValue, [url, "--decoding", $0.rawValue], false) } }
        let pairs = zip(starts[modes[1].rawValue] ?? [], starts[modes[0].rawValue] ?? [])
        return Rounds.median(pairs.map { $0.shownAfter - $1.shownAfter })
    }

    /// Starts an app of each kind in each round, with a cache that is empty at first.
    /// - Parameter kinds: Returns the arguments of each kind for the URL of an image, and whether it has the cache of those before it.
    private func measure(
        _ kinds: (String) -> [(name: String, arguments: [String], sharesCache: Bool)]
    ) throws -> [String: [Start]] {
        let display = try XvfbDisplay.start()
        defer { display.stop() }
        display.exportEnvironment()
        setenv("GSK_RENDERER", "cairo", 1)
        let data = Photograph.jpeg(seed: 1)
        let server = try LocalImageServer { _ in
            let headers = [("Content-Type", "image/jpeg"), ("Cache-Control", "max-age=3600")]
            return ServerResponse(status: 200, headers: headers, body: data)
        }
        let url = server.url("/first.jpg").absoluteString
        var starts: [String: [Start]] = [:]
        for _ in 0..<rounds {
            let cache = TemporaryDirectory()
            for kind in kinds(url) {
                let place = kind.sharesCache ? cache : TemporaryDirectory()
                let arguments = ["startup", "--cache", place.path, "--image"] + kind.arguments
                let result = try ChildProcess.run(CommandLine.arguments[0], arguments, seconds: 60)
                guard result.exitCode == 0, let start = Start(result.output) else {
                    throw ValidationError("A start ended early: \(result.output)")
                }
                starts[kind.name, default: []].append(start)
            }
        }
        return starts
    }

    /// Opens a window with a GtkPicture, and prints a line once its first frame with the image is drawn.
    @MainActor
    private func start(with image: String) throws {
        let beginning = ContinuousClock.now
        guard gtk_init_check() != 0 else { throw ValidationError("GTK finds no display. Install xvfb.") }
        let window = gtk_window_new()!
        let native = UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self)
        let picture = gtk_picture_new()!
        gtk_widget_set_size_request(picture, 400, 300)
        gtk_window_set_child(native, picture)
        gtk_window_present(native)
        let frames = FrameCount(window)
        var result = Start()
        var countBefore: Int? = 0
        if plain {
            gtk_picture_set_filename(OpaquePointer(picture), image)
        } else if let url = URL(string: image), image != "none" {
            countBefore = nil
            let (time, memory) = (Self.mainThreadTime, OwnProcess.megabytes("RssAnon"))
            var configuration = ImageManager.Configuration()
            configuration.diskCache = ImageManager.Configuration.DiskCache(directory: cache)
            configuration.decoding = decoding.configuration
            ImageManager.shared = ImageManager(configuration: configuration)
            let pointer = WidgetPointer(picture)
            pointer.setImage(with: url, completion: { _ in countBefore = frames.count })
            result.setupTime = Self.mainThreadTime - time
            result.setupMemory = OwnProcess.megabytes("RssAnon") - memory
        }
        let isShown = MainLoopPump.run(
            until: { countBefore.map { frames.count > $0 } ?? false },
            timeout: .seconds(30)
        )
        guard isShown else { throw ValidationError("The first frame did not come within 30 s.") }
        result.shownAfter = (ContinuousClock.now - beginning) / .milliseconds(1)
        (result.mainThreadTime, result.memory) = (Self.mainThreadTime, OwnProcess.megabytes("RssAnon"))
        print(result.line)
    }

    /// The milliseconds that this thread has used a processor.
    private static var mainThreadTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1000 + Double(time.tv_nsec) / 1e6
    }
}

/// The frames that a window has drawn.
@MainActor
private final class FrameCount {
    var count = 0

    init(_ window: UnsafeMutablePointer<GtkWidget>) {
        let callback: @convention(c) (gpointer, gpointer) -> Void = { _, counter in
            let counter = Unmanaged<FrameCount>.fromOpaque(counter).takeUnretainedValue()
            MainActor.assumeIsolated { counter.count += 1 }
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
}

/// What one start took: milliseconds and megabytes.
private struct Start: CustomStringConvertible {
    /// From the beginning of `main` until the image, or the empty window, is drawn.
    var shownAfter = 0.0
    /// What the main thread has used a processor until then.
    var mainThreadTime = 0.0
    var memory = 0.0
    /// What the main thread takes to create a manager and to set the image.
    var setupTime = 0.0
    var setupMemory = 0.0

    init() {}

    /// Reads a line that another process has printed.
    init?(_ output: String) {
        let numbers = output.split(separator: "\n").last?.split(separator: " ").compactMap { Double($0) }
        guard let numbers, numbers.count == 5 else { return nil }
        (shownAfter, mainThreadTime, memory) = (numbers[0], numbers[1], numbers[2])
        (setupTime, setupMemory) = (numbers[3], numbers[4])
    }

    var line: String { "\(shownAfter) \(mainThreadTime) \(memory) \(setupTime) \(setupMemory)" }

    static func median(_ starts: [Start]) -> Start {
        var result = Start()
        for figure in [\Start.shownAfter, \.mainThreadTime, \.memory, \.setupTime, \.setupMemory] {
            result[keyPath: figure] = Rounds.median(starts.map { $0[keyPath: figure] })
        }
        return result
    }

    var description: String {
        func format(_ number: Double) -> String { Rounds.format(number) }
        return """
            on screen after \(format(shownAfter)) ms, main thread \(format(mainThreadTime)) ms, \(format(memory)) MB; \
            before the first load \(format(setupTime)) ms and \(format(setupMemory)) MB
            """
    }
}
