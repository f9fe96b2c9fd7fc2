import ArgumentParser
import TestSupport
import WebImageTesting

/// Measures the main-thread cost of flinging a list of 10,000 rows from end to end, with the scenario of the tests in a
/// release build.
struct Scrolling: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The library's main-thread work per frame of a flung list of 10,000 rows; memory after each round."
    )

    func run() throws {
        let name =
            "A list of 10,000 rows flung from end to end shows no wrong image and loads only rows nearby"
        let result = try ChildProcess.run(BuiltProgram.path("WidgetScenarios"), [name])
        print(result.output)
        let median = result.output.firstMatch(of: /median ([0-9.]+)/).flatMap { Double($0.1) }
        Limits.check("own main-thread work a frame, ms", median ?? .nan, atMost: 2)
        if result.exitCode != 0 { throw ExitCode.failure }
    }
}
