import ArgumentParser
import Foundation
import TestSupport
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Measures loads that wait because many were started at once: what the caller pays, and the memory that they take.
struct Queued: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Time of the caller, memory and time to cancel of each of many loads that wait for a slow server."
    )

    @Option(help: "The largest number of loads. The others are a tenth and a hundredth of it.")
    var count = 100_000
    @Option(help: "The number of rounds.")
    var rounds = 3

    func run() throws {
        // It answers nothing while the loads are measured.
        let gate = ServerGate()
        let server = try LocalImageServer { _ in
            var response = ServerResponse.notFound
            response.faults.gate = gate
            return response
        }
        defer { server.stop() }
        for count in [max(count / 100, 1), max(count / 10, 1), count] {
            var results: [Figures] = []
            for _ in 0..<rounds { results.append(measure(count, server)) }
            let (start, cancel) = (Rounds.median(results.map(\.start)), Rounds.median(results.map(\.cancel)))
            // Later rounds take memory that earlier ones have given back to the heap.
            let memory = results.map(\.kilobytes).max() ?? .infinity
            print(
                "\(count) queued loads, each: \(Rounds.format(start)) us of the caller, \(Rounds.format(memory)) KB; "
                    + "cancelled in \(Rounds.format(cancel)) us"
            )
            guard count >= 1000 else { continue }
            Limits.check("\(count) queued loads, KB each", memory, atMost: 2)
        }
    }

    private struct Figures {
        /// Microseconds of the caller for each load.
        var start: Double
        /// The memory of each load while it waits.
        var kilobytes: Double
        /// Microseconds of the caller for each load that is cancelled.
        var cancel: Double
    }

    private func measure(_ count: Int, _ server: LocalImageServer) -> Figures {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        let manager = ImageManager(configuration: configuration)
        let urls = (0..<count).map { server.url("/\($0).jpg") }
        var tasks: [ImageTask] = []
        tasks.reserveCapacity(count)
        let before = OwnProcess.megabytes("RssAnon")
        let clock = ContinuousClock()
        let start = clock.measure {
            for url in urls { tasks.append(manager.load(url, on: AnyThread()) { _ in }) }
        }
        while manager.pendingChangeCount > 0 { usleep(1000) }
        let memory = (OwnProcess.megabytes("RssAnon") - before) * 1024
        let cancel = clock.measure {
            for task in tasks { task.cancel() }
        }
        while manager.pendingChangeCount > 0 || manager.activeCounts.jobs > 0 { usleep(1000) }
        func each(_ duration: Duration) -> Double { duration / .microseconds(1) / Double(count) }
        return Figures(start: each(start), kilobytes: memory / Double(count), cancel: each(cancel))
    }
}
