import ArgumentParser
import CAllocationCounter
import CPlainDecoders
internal import CWebImageGtk4
import Foundation
import GtkWebImage
import WebImageTesting

/// Measures the cost of playing an animation.
struct Playing: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "CPU time and memory of ten seconds of 480x360 at 25 frames a second in process, beside GdkPixbufAnimation."
    )

    @Option(help: "The duration of each playback in seconds.")
    var seconds = 10.0
    @Option(help: "The number of rounds. GIF plays with the library and with GdkPixbufAnimation in each.")
    var rounds = 3

    func run() throws {
        try Broadway.run(measureAll)
    }

    @MainActor
    private func measureAll() throws {
        let folder = TemporaryDirectory()
        let gif = try Animation.gif(in: folder.path)
        let webp = try Animation.webp(in: folder.path)
        let loop = try cpuSeconds { {} }.cpu
        print("the main loop alone: \(Rounds.format(loop)) CPU s, taken off the others")
        _ = try measure("WebP, ours", loop) { try player(webp) }
        let start = OwnProcess.cpuSeconds
        _ = webp.withUnsafeBytes { plain_webp_animation($0.baseAddress, $0.count) }
        print(
            "WebP, each of the 250 frames decoded once by libwebp in C: \(Rounds.format(OwnProcess.cpuSeconds - start)) CPU s"
        )
        let gifs = try (0..<rounds).map { _ in
            (
                ours: try measure("GIF, ours", loop) { try player(gif) },
                pixbuf: try measure("GIF, GdkPixbufAnimation", loop) { pixbufAnimation(gif) }
            )
        }
        Limits.check(
            "GIF, CPU time to that of GdkPixbufAnimation",
            Rounds.median(gifs.map { $0.ours.cpu / $0.pixbuf.cpu }),
            atMost: 0.55
        )
        Limits.check(
            "GIF, memory to that of GdkPixbufAnimation",
            Rounds.median(gifs.map { Double($0.ours.bytes) / Double($0.pixbuf.bytes) }),
            atMost: 0.35
        )
    }

    @MainActor
    private func player(_ data: Data) throws -> () -> Void {
        let image = try WebImage(data: data)
        let paintable = ImagePaintable()
        paintable.setImage(image)
        return Self.drawing(paintable)
    }

    /// Does what a widget does for each frame, apart from drawing.
    @MainActor
    static func drawing(_ paintable: ImagePaintable) -> () -> Void {
        var last = -1
        return {
            let index = paintable.imageBinding.player?.currentFrameIndex ?? 0
            guard index != last else { return }
            last = index
            let snapshot = gtk_snapshot_new()
            gdk_paintable_snapshot(paintable.nativePaintable, snapshot, 480, 360)
            if let node = gtk_snapshot_free_to_node(snapshot) { gsk_render_node_unref(node) }
        }
    }

    /// Does what apps do with GdkPixbufAnimation: a pixbuf for each frame and a texture from it.
    @MainActor
    private func pixbufAnimation(_ data: Data) -> () -> Void {
        let player = data.withUnsafeBytes { plain_pixbuf_player_new($0.baseAddress, $0.count) }
        return { plain_pixbuf_player_draw(player) }
    }

    @MainActor
    private func measure(
        _ name: String,
        _ loop: Double,
        make: () throws -> () -> Void
    ) throws -> (cpu: Double, bytes: Int) {
        let (cpu, bytes) = try cpuSeconds(make)
        print("\(name): \(Rounds.format(cpu - loop)) CPU s, \(Rounds.format(Double(bytes) / 1e6)) MB at most")
        return (cpu - loop, bytes)
    }

    @MainActor
    private func cpuSeconds(_ make: () throws -> () -> Void) throws -> (cpu: Double, bytes: Int) {
        allocated_peak_reset()
        let before = allocated_bytes()
        let start = OwnProcess.cpuSeconds
        let frame = try make()
        let end = ContinuousClock.now + .seconds(seconds)
        // A screen draws sixty frames a second.
        while ContinuousClock.now < end {
            let next = ContinuousClock.now + .microseconds(16_667)
            _ = MainLoopPump.run(until: { ContinuousClock.now >= next })
            frame()
        }
        return (OwnProcess.cpuSeconds - start, allocated_peak() - before)
    }
}
