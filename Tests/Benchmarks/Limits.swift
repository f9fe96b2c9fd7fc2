import ArgumentParser
import Foundation
import WebImageTesting

/// Limits that the benchmarks hold their own numbers against. Every benchmark checks ratios and counts of allocations, which
/// depend little on the machine, rather than times.
enum Limits {
    // Benchmarks run on the main thread only.
    nonisolated(unsafe) private static var failures: [String] = []
    nonisolated(unsafe) private(set) static var checkCount = 0
    static let checkedPrefix = "numbers checked: "

    /// Notes a number that is above its limit and says so.
    static func check(_ name: String, _ value: Double, atMost limit: Double) {
        checkCount += 1
        // Not `value > limit`, which NaN would pass.
        guard !(value <= limit) else { return }
        let line = "\(name): \(Rounds.format(value)) is above the limit of \(Rounds.format(limit))"
        failures.append(line)
        print("LIMIT \(line)")
    }

    /// Adds what a benchmark has checked in a process of its own.
    static func add(_ output: String, of name: String) {
        let lines = output.split(separator: "\n")
        failures += lines.filter { $0.hasPrefix("LIMIT ") }.map { String($0.dropFirst(6)) }
        let count = lines.last { $0.hasPrefix(checkedPrefix) }.flatMap { Int($0.dropFirst(checkedPrefix.count)) }
        if let count { checkCount += count } else { failures.append("\(name) has failed") }
    }

    /// Sums up all checks so far.
    /// - Throws: ExitCode.failure when a number is above its limit, or nothing was checked.
    static func report() throws {
        print("\(checkCount) numbers checked, \(failures.count) above their limits")
        for failure in failures { print("LIMIT \(failure)") }
        if !failures.isEmpty || checkCount == 0 { throw ExitCode.failure }
    }
}

/// Runs the benchmarks that have limits, in short form.
struct Gate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs the benchmarks in short form and fails when a ratio or a count is above its limit."
    )

    func run() throws {
        try run([
            (Caches.self, ["--entries", "5000"]), (Requests.self, []), (Binding.self, []),
            (Queued.self, ["--count", "10000"]),
            (Decoding.self, ["--rounds", "5"]), (Transforming.self, ["--rounds", "3"]),
            (Downloads.self, ["--rounds", "3", "--count", "200"]), (Playing.self, ["--seconds", "4"]),
            (Pages.self, ["--seconds", "4"]), (Scrolling.self, []), (Startup.self, []),
            (Rivals.self, ["--count", "200", "--rounds", "3"]),
            (Loading.self, ["--count", "200", "--rounds", "3"]),
            (Loading.self, ["--count", "200", "--rounds", "3", "--local"]),
            (Scale.self, ["--loads", "10000", "--entries", "20000", "--widgets", "1000"]),
            (Sandbox.self, ["--count", "200", "--rounds", "5", "--seconds", "4", "--starts", "5"]),
            (Screen.self, ["--brief", "--rounds", "3", "--count", "200", "--kind", "jpeg", "--kind", "local"]),
            (Screen.self, ["--brief", "--rounds", "3", "--count", "60", "--kind", "png", "--kind", "webp"]),
            (Screen.self, ["--brief", "--rounds", "3", "--count", "8", "--kind", "progressive", "--kind", "partial"]),
            (Screen.self, ["--brief", "--rounds", "3", "--count", "40", "--kind", "full", "--kind", "tls"]),
        ])
        try Limits.report()
    }
}

/// Runs the benchmarks whose figures an app feels.
struct Table: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "The first screen, the main thread, memory, the disk, animations and scale, one benchmark after the other."
    )

    func run() throws {
        try run([
            (Screen.self, []), (Sandbox.self, []), (Loading.self, []), (Loading.self, ["--local"]),
            (Rivals.self, ["--generated"]), (Startup.self, []), (Binding.self, []), (Requests.self, []),
            (Queued.self, []), (Decoding.self, []), (Downloads.self, []), (Pages.self, []), (Scale.self, []),
            (Stalls.self, []),
        ])
    }
}

extension ParsableCommand {
    /// Runs each benchmark in a process of its own, since GTK knows one display only.
    fileprivate func run(_ benchmarks: [(any ParsableCommand.Type, [String])]) throws {
        for (benchmark, arguments) in benchmarks {
            let command = [benchmark._commandName] + arguments
            print("== \(command.joined(separator: " "))")
            let own = CommandLine.arguments[0]
            let result = try ChildProcess.run(own, [Limited.configuration.commandName!] + command, seconds: 1800)
            print(result.output)
            Limits.add(result.output, of: benchmark._commandName)
        }
    }
}

/// Runs one benchmark for the gate, and prints how many numbers it has checked.
struct Limited: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "limited", shouldDisplay: false)

    @Argument(parsing: .captureForPassthrough) var command: [String]

    func run() throws {
        let benchmark = Benchmarks.configuration.subcommands.first { $0._commandName == command.first }
        guard var benchmark = try benchmark?.parseAsRoot(Array(command.dropFirst())) else {
            throw ValidationError("There is no benchmark \(command.first ?? "")")
        }
        try benchmark.run()
        print("\(Limits.checkedPrefix)\(Limits.checkCount)")
    }
}
