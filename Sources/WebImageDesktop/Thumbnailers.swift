internal import CWebImageGLib
import FoundationEssentials
import Glibc
import WebImageCore

/// The installed programs that make thumbnails of files by type: `thumbnailers/*.thumbnailer` in the data directories.
struct Thumbnailers: Sendable {
    struct Entry: Sendable {
        /// The command with placeholders: %i or %u for the file, %o for the thumbnail, and %s for its size.
        let command: String
        let types: Set<String>
    }

    private static let timeLimit = Duration.seconds(30)
    private static let largestByteCount = 8 << 20

    /// The thumbnailers of the user and the system.
    static let standard: Thumbnailers = {
        var directories = [String(cString: g_get_user_data_dir())]
        if var next = g_get_system_data_dirs() {
            while let directory = next.pointee {
                directories.append(String(cString: directory))
                next += 1
            }
        }
        return Thumbnailers(directories: directories.map { "\($0)/thumbnailers" })
    }()

    private let directories: [String]
    private let timeLimit: Duration

    /// - Parameter directories: The directories of `.thumbnailer` files. The first match for a type counts.
    init(directories: [String], timeLimit: Duration = Self.timeLimit) {
        self.directories = directories
        self.timeLimit = timeLimit
    }

    /// The outcome of making a thumbnail.
    enum Outcome: Equatable {
        /// The unchecked output of the program.
        case made(Data)
        /// The program cannot read the file.
        case failed
        /// The program was killed. It may succeed next time, but takes as long again.
        case notEnded
        /// No program handles the type, or it could not be started.
        case notTried
    }

    /// Runs the program for the type of a file, and returns its thumbnail.
    func make(_ source: SourceFile, longestSide: Int, isCancelled: () -> Bool) -> Outcome {
        guard let type = Self.type(of: source), let entry = entry(for: type),
            let folder = g_dir_make_tmp("thumbnail-XXXXXX", nil)
        else { return .notTried }
        let path = String(cString: folder)
        g_free(folder)
        defer { try? FileStore().removeTree(path) }
        let command = ThumbnailerCommand(entry.command, source: source, folder: path, longestSide: longestSide)
        guard let command else { return .notTried }
        switch command.run(timeLimit: timeLimit, isCancelled: isCancelled) {
        case .succeeded:
            // A program controlled by a hostile file could create a link to a private image of the user.
            let made = try? FileStore().readUnlinked(command.output, maximumByteCount: Self.largestByteCount)
            return made.map { .made($0) } ?? .failed
        case .failed: return .failed
        case .notEnded: return .notEnded
        case .notStarted: return .notTried
        }
    }

    /// The program for a type. Reading the files each time costs less than starting the program.
    private func entry(for type: String) -> Entry? {
        for directory in directories {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            for name in names.sorted() where name.hasSuffix(".thumbnailer") {
                if let entry = Self.entry(at: "\(directory)/\(name)"), entry.types.contains(type) { return entry }
            }
        }
        return nil
    }

    private static func entry(at path: String) -> Entry? {
        guard let file = g_key_file_new() else { return nil }
        defer { g_key_file_unref(file) }
        guard g_key_file_load_from_file(file, path, GKeyFileFlags(rawValue: 0), nil) != 0 else { return nil }
        func value(_ key: String) -> String? {
            let value = g_key_file_get_string(file, "Thumbnailer Entry", key, nil)
            defer { g_free(value) }
            return value.map { String(cString: $0) }
        }
        guard let command = value("Exec"), let types = value("MimeType") else { return nil }
        if let program = value("TryExec") {
            guard let found = g_find_program_in_path(program) else { return nil }
            g_free(found)
        }
        return Entry(command: command, types: Set(types.split(separator: ";").map(String.init)))
    }

    /// The media type of a file, guessed from its name and first bytes.
    private static func type(of source: SourceFile) -> String? {
        guard let head = try? FileStore().readHead(pathBytes: source.path, byteCount: 4096) else { return nil }
        let content = (source.path + [0]).withUnsafeBufferPointer { name in
            head.withUnsafeBytes { bytes in
                name.withMemoryRebound(to: CChar.self) { name in
                    g_content_type_guess(
                        name.baseAddress,
                        bytes.bindMemory(to: UInt8.self).baseAddress,
                        gsize(bytes.count),
                        nil
                    )
                }
            }
        }
        defer { g_free(content) }
        let type = content.flatMap { g_content_type_get_mime_type($0) }
        defer { g_free(type) }
        return type.map { String(cString: $0) }
    }
}
