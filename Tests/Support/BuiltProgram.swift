import Foundation

/// Finds the programs of this package beside the one that runs the tests.
package enum BuiltProgram {
    /// The path of the program with that name.
    package static func path(_ name: String) -> String {
        let runner = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        let arguments = CommandLine.arguments.map { URL(filePath: $0) }
        // The tests run from their own program or from one that gets its path as an argument.
        let folders = ([runner] + arguments).map { $0.deletingLastPathComponent().path() }
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) } ?? name
    }
}
