import ArgumentParser
internal import CWebImageGtk4
import Foundation
import Glibc
import GtkWebImage
import TestSupport
import WebImageTesting

/// Measures how long the main thread is kept from running by loads on a busy machine.
struct Stalls: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "How long the library keeps the main thread from its loop beside busy processes, at 100 loads a second."
    )

    @Option(help: "The number of processes that only compute.")
    var processes = 8
    @Option(help: "The seconds of each round.")
    var seconds = 10
    @Option(help: "The number of loads a second.")
    var rate = 100
    @Option(help: "The number of rounds.")
    var rounds = 3
    @Option(help: "Gives the decoding threads this niceness, to see why they have none. Default: theirs.")
    var niceness: Int32?

    @Option(help: DecodingMode.help)
    var decoding = DecodingMode.sandboxed

    func run() throws {
        try MainActor.assumeIsolated { try measure() }
    }

    @MainActor
    private func measure() throws {
        let files = (0..<8).map { Photograph.jpeg(seed: $0) }
        let server = try LocalImageServer { request in
            .ok(files[(Int(request.path.dropFirst()) ?? 0) % files.count], contentType: "image/jpeg")
        }
        let busy = try (0..<processes).map { _ in
            let process = Process()
            process.executableURL = URL(filePath: "/bin/sh")
            process.arguments = ["-c", "while :; do :; done"]
            try process.run()
            return process
        }
        defer { for process in busy { process.terminate() } }
        print("\(processes) busy processes, \(decoding), \(rate) loads a second, \(rounds) rounds of \(seconds) s")
        var (idle, loading) = ([Meter](), [Meter]())
        for _ in 0..<rounds {
            idle.append(round(server, rate: 0))
            loading.append(round(server, rate: rate))
        }
        report("without loads", idle)
        report("with loads", loading)
    }

    /// What a round has measured.
    @MainActor
    private final class Meter {
        /// The milliseconds of each turn of the loop that the library, or this command, has taken.
        var turns: [Double] = []
        /// The milliseconds by which a source that is due every 5 ms was late, for whatever reason.
        var delays: [Double] = []
        var loadCount = 0
        var callWorst = 0.0
        var isReniced = false
        private var last = 0.0

        func tick() {
            let now = Double(g_get_monotonic_time()) / 1000
            if last > 0 { delays.append(max(now - last - 5, 0)) }
            last = now
        }
    }

    @MainActor
    private func round(_ server: LocalImageServer, rate: Int) -> Meter {
        let folder = TemporaryDirectory()
        var configuration = ImageManager.Configuration()
        configuration.diskCache = ImageManager.Configuration.DiskCache(directory: folder.path)
        configuration.downloader = ImageDownloader()
        configuration.decoding = decoding.configuration
        let manager = ImageManager(configuration: configuration)
        let meter = Meter()
        let start = ContinuousClock.now
        var begun = 0
        let timer = g_timeout_add_full(0, 5, { _ in gboolean(1) }, nil, nil)
        defer { g_source_remove(timer) }
        LoopTurns.begin()
        _ = MainLoopPump.run(
            until: {
                meter.tick()
                let elapsed = (ContinuousClock.now - start) / .seconds(1)
                if begun > 20, let niceness, !meter.isReniced {
                    meter.isReniced = true
                    renice("gwi-decode", niceness)
                }
                // One load a turn: after a delay, a burst of loads would be a stall of this command's making.
                if Double(begun) < elapsed * Double(rate) {
                    begun += 1
                    let call = ContinuousClock.now
                    let request = ImageRequest(
                        url: server.url("/\(begun)"),
                        decodeSize: .contain(PixelSize(width: 160, height: 120))
                    )
                    manager.load(request) { _ in meter.loadCount += 1 }
                    meter.callWorst = max(meter.callWorst, (ContinuousClock.now - call) / .milliseconds(1))
                }
                return elapsed >= Double(seconds)
            },
            timeout: .seconds(seconds + 10)
        )
        meter.turns = LoopTurns.end().turns
        return meter
    }

    /// Changes the niceness of the threads with a name.
    private func renice(_ name: String, _ niceness: Int32) {
        for task in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? [] {
            let file = "/proc/self/task/\(task)/comm"
            guard (try? String(contentsOfFile: file, encoding: .utf8))?.hasPrefix(name) == true,
                let number = UInt32(task)
            else { continue }
            setpriority(Int32(PRIO_PROCESS.rawValue), number, niceness)
        }
    }

    @MainActor
    private func report(_ name: String, _ meters: [Meter]) {
        let delays = meters.flatMap(\.delays).sorted()
        let turns = meters.flatMap(\.turns).sorted()
        let long = meters.map { meter in meter.turns.count { $0 > 50 } }
        print(
            "\(name): turns of the loop, without waiting for a processor: 99 % below "
                + "\(Rounds.format(turns.isEmpty ? 0 : turns[turns.count * 99 / 100])) ms, "
                + "worst \(Rounds.format(turns.last ?? 0)) ms, "
                + "above 50 ms: \(long.map(String.init).joined(separator: ", ")) a round; "
                + "longest call of load \(Rounds.format(meters.map(\.callWorst).max() ?? 0)) ms; "
                + "\(meters.reduce(0) { $0 + $1.loadCount }) loads; delays with that waiting: "
                + "median \(Rounds.format(Rounds.median(delays))) ms, worst \(Rounds.format(delays.last ?? 0)) ms, "
                + "\(delays.count { $0 > 50 }) above 50 ms"
        )
    }
}
