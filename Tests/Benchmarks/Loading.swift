import ArgumentParser
import Foundation
import Synchronization
import TestSupport
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Measures the whole pipeline for many images, without widgets.
struct Loading: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Loads a list of images at the size of a cell: without a disk cache, cold, and again from disk."
    )

    @Option(help: "A file with one URL per line. Default: generated photographs of 1600x1200, served by nginx.")
    var list: String?
    @Option(help: "The number of generated images when there is no list.")
    var count = 500
    @Option(help: "The width of the box in pixels.")
    var width = 256
    @Option(help: "The height of the box in pixels.")
    var height = 192
    @Flag(help: "Load the generated photographs as local files, without a server.")
    var local = false
    @Option(help: "The number of rounds.")
    var rounds = 5
    @Option(help: "Load the list only once, with this cache directory, to compare it with another program.")
    var cache: String?
    @Option(help: DecodingMode.help)
    var decoding = DecodingMode.sandboxed

    func run() throws {
        // ArgumentParser calls run() on the main thread.
        try MainActor.assumeIsolated { try measure() }
    }

    @MainActor
    private func measure() throws {
        let server: Nginx?
        let urls: [URL]
        let files = TemporaryDirectory()
        if let list {
            server = nil
            urls = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n").compactMap {
                URL(string: String($0))
            }
        } else if local {
            server = nil
            urls = try Photograph.write(count: count, to: files.path)
        } else {
            (server, urls) = try Photograph.serve(count: count)
        }
        if let cache {
            let once = load(urls, cache)
            var figures = LoadFigures()
            (figures.wall, figures.cpu, figures.first) = (once.wall, once.cpu, once.first)
            (figures.cpuInAll, figures.peak) = (once.cpuInAll, OwnProcess.megabytes("VmHWM"))
            print(figures.line)
            if once.failures > 0 { throw ExitCode.failure }
            return
        }
        print("\(urls.count) images at \(width)x\(height), \(decoding), \(rounds) rounds")
        var (uncached, cold, warm) = ([Measurement](), [Measurement](), [Measurement]())
        // All are kept until the end, since ext4 is slow to make files for minutes after others were removed.
        let folders = (0..<rounds).map { _ in TemporaryDirectory() }
        for folder in folders {
            uncached.append(load(urls, nil))
            cold.append(load(urls, folder.path))
            warm.append(load(urls, folder.path))
        }
        report("without a disk cache", uncached)
        report("cold", cold)
        report("warm", warm)
        for (name, value) in [("wall", \Measurement.wall), ("first 16", \.first), ("CPU", \.cpu)] {
            let ratios = zip(cold, uncached).map { $0[keyPath: value] / $1[keyPath: value] }
            print("cold to without a disk cache, \(name): \(Rounds.format(Rounds.median(ratios)))")
        }
        let saved = zip(warm, uncached).map { $0.cpu / $1.cpu }
        Limits.check("list from disk to a cold one, CPU time", Rounds.median(saved), atMost: 0.15)
        if !local {
            let quickened = zip(warm, cold).map { $0.wall / $1.wall }
            Limits.check("list from disk to a cold one, wall time", Rounds.median(quickened), atMost: 0.08)
        }
        withExtendedLifetime((server, files, folders)) {}
    }

    private struct Measurement {
        var wall = 0.0
        var transfer = 0.0
        var first = 0.0
        var cpu = 0.0
        var cpuInAll = 0.0
        var failures = 0
    }

    @MainActor
    private func load(_ urls: [URL], _ directory: String?) -> Measurement {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = directory.map { ImageManager.Configuration.DiskCache(directory: $0) }
        configuration.diskCache?.maximumByteCount = 2_000_000_000
        configuration.downloader = ImageDownloader()
        configuration.decoding = decoding.configuration
        let manager = ImageManager(configuration: configuration)
        let box = DecodeSize.contain(PixelSize(width: width, height: height))
        let firstCount = min(16, urls.count)
        var (done, firstDone, measurement) = (0, 0, Measurement())
        // A list on screen would keep them, too.
        var images: [WebImage] = []
        let (start, cpu) = (ContinuousClock.now, OwnProcess.cpuSeconds)
        let transfer = Mutex<ContinuousClock.Instant?>(nil)
        let observation = manager.observe { step in
            guard case .fetchStarted = step.kind else { return }
            transfer.withLock { $0 = $0 ?? step.time }
        }
        for (index, url) in urls.enumerated() {
            manager.load(ImageRequest(url: url, decodeSize: box)) { result in
                MainActor.assumeIsolated {
                    done += 1
                    switch result {
                    case .success(let response): images.append(response.image)
                    case .failure: measurement.failures += 1
                    }
                    if index < firstCount { firstDone += 1 }
                    if index < firstCount, firstDone == firstCount {
                        measurement.first = (.now - start) / .seconds(1)
                    }
                }
            }
        }
        _ = MainLoopPump.run(until: { done == urls.count }, timeout: .seconds(300))
        measurement.wall = (.now - start) / .seconds(1)
        measurement.transfer = transfer.withLock { ($0.map { $0 - start } ?? .zero) / .seconds(1) }
        measurement.cpu = OwnProcess.cpuSeconds - cpu
        // The writes after delivery count as work, although no load waits for them.
        _ = MainLoopPump.run(until: { manager.pendingWorkCount == 0 })
        measurement.cpuInAll = OwnProcess.cpuSeconds - cpu
        withExtendedLifetime((images, observation)) {}
        return measurement
    }

    private func report(_ name: String, _ measurements: [Measurement]) {
        func median(_ value: (Measurement) -> Double) -> String {
            Rounds.format(Rounds.median(measurements.map(value)))
        }
        let failures = measurements.reduce(0) { $0 + $1.failures }
        print(
            "\(name): wall \(median(\.wall)) s, first 16 \(median(\.first)) s,"
                + " first transfer \(median(\.transfer)) s, CPU \(median(\.cpu)) s,"
                + " \(median(\.cpuInAll)) s with what is stored afterwards"
                + (failures > 0 ? ", \(failures) FAILED" : "")
        )
    }
}
