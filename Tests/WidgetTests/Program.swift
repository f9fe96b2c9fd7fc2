import Foundation
import WebImageTesting

/// The programs of this package, beside the one that runs the tests.
enum Program {
    static let scenarios = path("WidgetScenarios")
    static let gallery = path("webimage-gallery")

    static let scenarioNames: [String] = {
        let result = try? ChildProcess.run(scenarios)
        return (result?.output ?? "").split(separator: "\n").map(String.init)
    }()

    /// With every warning of GLib that means a mistake ending the program.
    static func strict(_ environment: [String: String]) -> [String: String] {
        ["G_DEBUG": "fatal-criticals", "G_ENABLE_DIAGNOSTIC": "1"].merging(environment) { $1 }
    }

    private static func path(_ name: String) -> String {
        let runner = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        let arguments = CommandLine.arguments.map { URL(filePath: $0) }
        // The tests run from their own program, or from one that is given it.
        let folders = ([runner] + arguments).map { $0.deletingLastPathComponent().path() }
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) } ?? name
    }
}
