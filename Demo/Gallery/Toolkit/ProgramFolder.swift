import Foundation

/// The folder of the running program, beside which an installation has its images, sources and translations.
enum ProgramFolder {
    /// The kernel knows the path of the program. The first argument is only its name when a desktop file starts it.
    private static let url: URL = {
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(filePath: path ?? CommandLine.arguments[0]).deletingLastPathComponent()
    }()

    /// Returns a folder of an installation.
    /// - Parameter path: The path below the folder `share` beside that of the program.
    /// - Returns: `nil` when the program is not installed.
    static func share(_ path: String) -> String? {
        let folder = url.appending(path: "../share/\(path)").standardized.path(percentEncoded: false)
        return FileManager.default.fileExists(atPath: folder) ? folder : nil
    }

    /// Returns a folder of the gallery's own: below `share` of an installation, else in the source tree.
    /// - Parameters:
    ///   - name: The name of the folder in an installation.
    ///   - source: The path of the same folder in the source tree that the program was built from.
    static func own(_ name: String, source: String) -> String {
        if let installed = share("\(AppInfo.identifier)/\(name)") { return installed }
        let top = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        return "/\(top)/\(source)"
    }
}
