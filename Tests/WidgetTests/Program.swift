import Foundation
import TestSupport
import WebImageTesting

/// The programs of this package, beside the one that runs the tests.
enum Program {
    static let scenarios = BuiltProgram.path("WidgetScenarios")
    static let gallery = BuiltProgram.path("webimage-gallery")

    static let scenarioNames: [String] = {
        let result = try? ChildProcess.run(scenarios)
        return (result?.output ?? "").split(separator: "\n").map(String.init)
    }()

    /// With every warning of GLib that means a mistake ending the program.
    static func strict(_ environment: [String: String]) -> [String: String] {
        ["G_DEBUG": "fatal-criticals", "G_ENABLE_DIAGNOSTIC": "1"].merging(environment) { $1 }
    }
}
