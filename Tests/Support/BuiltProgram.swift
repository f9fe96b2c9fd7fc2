import Foundation

/// The programs of this package, beside the one that runs the tests.
package enum BuiltProgram {
    /// Where a program of this name is.
    package static func path(_ name: String) -> String {
        let runner = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        let arguments = CommandLine.arguments.map { URL(filePath: $0) }
        // The tests run from their own program, or from one that is given it.
        let folders = ([runner] + arguments).map { $0.deletingLastPathComponent().path() }
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) } ?? name
    }
}
