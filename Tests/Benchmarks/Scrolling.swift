import ArgumentParser
import TestSupport
import WebImageTesting

/// What a list of 10,000 rows costs the main thread while it is flung from end to end; the test of the same name, as
/// released apps would run it.
struct Scrolling: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Own main-thread work for each frame of a list of 10,000 rows that is flung; memory after each round."
    )

    func run() throws {
        let name =
            "A list of 10,000 rows flung from end to end never shows a wrong image, nor loads what was not near"
        let result = try ChildProcess.run(BuiltProgram.path("WidgetScenarios"), [name])
        print(result.output)
        if result.exitCode != 0 { throw ExitCode.failure }
    }
}
