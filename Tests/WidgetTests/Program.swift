import Foundation
import TestSupport
import WebImageTesting

/// The programs of this package that the tests start.
enum Program {
    static let scenarios = BuiltProgram.path("WidgetScenarios")
    static let gallery = BuiltProgram.path("webimage-gallery")

    /// The environment of a program that ends at the first GLib warning that means a mistake.
    static func strict(_ environment: [String: String]) -> [String: String] {
        ["G_DEBUG": "fatal-criticals", "G_ENABLE_DIAGNOSTIC": "1"].merging(environment) { $1 }
    }
}
