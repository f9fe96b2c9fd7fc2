import Foundation
import TestSupport
import WebImageTesting

/// The Swift compiler, with the modules of the library.
enum Compiler {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Says what is wrong with a file.
    static func check(_ file: URL) throws -> ChildProcess {
        let options = ["-typecheck", file.path(), "-I", BuiltProgram.path("Modules"), "-swift-version", "6"]
        return try ChildProcess.run("swiftc", options + cModules())
    }

    /// What the compiler is to be told about the C modules behind those of the library.
    private static func cModules() throws -> [String] {
        let folders = ["Sources/CLibraries", "Demo/Examples/FirstApp/Sources"].map { root.appending(path: $0) }
        // SwiftPM writes the maps of the C targets.
        let built = URL(filePath: BuiltProgram.path("Modules")).deletingLastPathComponent()
        let modules = try (folders + [built]).flatMap {
            try FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)
        }
        let maps = modules.map { $0.appending(path: "module.modulemap").path() }
        let flags = try ChildProcess.run("pkg-config", ["--cflags", "gtk4"]).output
            .split(whereSeparator: \.isWhitespace)
        return maps.filter(FileManager.default.fileExists).flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
            + flags.filter { $0.hasPrefix("-I") }.map(String.init)
    }
}
