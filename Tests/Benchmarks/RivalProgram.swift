import ArgumentParser
import Foundation
import WebImageTesting

/// What a program took to load a list of images.
struct LoadFigures {
    /// From just before the first request until the last image is there.
    var wall = 0.0
    var cpu = 0.0
    /// The seconds until the first 16 images of the list are there.
    var first = 0.0
    /// The milliseconds of the longest turn of the main loop, and what the library has taken of a turn at most.
    var turn = 0.0
    var ownTurn = 0.0
    /// The microseconds of the main thread that each `setImage` took.
    var bind = 0.0
    /// The megabytes that it took in the end and at most, above those at the start.
    var memory = 0.0
    var peakAboveStart = 0.0
    /// The most megabytes of the whole process.
    var peak = 0.0
    /// The CPU time until everything is stored.
    var cpuInAll = 0.0

    private static var names: [(String, WritableKeyPath<LoadFigures, Double>)] {
        [
            ("wall", \.wall), ("CPU", \.cpu), ("first 16", \.first), ("turn", \.turn), ("own turn", \.ownTurn),
            ("bind", \.bind),
            ("memory", \.memory), ("peak above start", \.peakAboveStart), ("peak", \.peak), ("CPU in all", \.cpuInAll),
        ]
    }

    init() {}

    /// Reads a line that a program has printed: "wall 1.5 s, CPU 2.5 s", and so on.
    init?(_ output: String) {
        guard let line = output.split(separator: "\n").last(where: { $0.hasPrefix("wall ") }) else { return nil }
        for part in line.split(separator: ",") {
            let words = part.split(separator: " ")
            guard words.count >= 3, let number = Double(words[words.count - 2]) else { return nil }
            let name = words.dropLast(2).joined(separator: " ")
            guard let figure = Self.names.first(where: { $0.0 == name })?.1 else { return nil }
            self[keyPath: figure] = number
        }
    }

    /// The line that another process reads.
    var line: String {
        Self.names.map { name, figure in "\(name) \(self[keyPath: figure]) -" }.joined(separator: ", ")
    }
}

/// A C program of Tests/Rivals, which is compiled when it is first needed.
struct RivalProgram {
    let name: String
    /// Whether the program may fail: gdk-pixbuf has a loader for WebP only where one is installed.
    var isOptional = false
    private let path: String
    private let mode: [String]

    /// Compiles a program.
    /// - Parameters:
    ///   - source: The name of the file in Tests/Rivals.
    ///   - modules: The pkg-config modules of its libraries.
    ///   - onScreen: Whether it shows the images in a window.
    init(
        _ name: String,
        _ source: String,
        modules: [String],
        mode: [String] = [],
        onScreen: Bool = false,
        in folder: String
    ) throws {
        self.name = name
        self.mode = mode
        path = "\(folder)/\(source)\(onScreen ? "-screen" : "")"
        guard !FileManager.default.isExecutableFile(atPath: path) else { return }
        let flags = "$(pkg-config --cflags --libs \(modules.joined(separator: " ")))\(onScreen ? " -DSCREEN" : "")"
        let command = "cc -O3 -march=native -o '\(path)' Tests/Rivals/\(source).c \(flags) -pthread"
        let result = try ChildProcess.run("sh", ["-c", command])
        guard result.exitCode == 0 else { throw ValidationError("\(command): \(result.output)") }
    }

    /// libcurl with the plain calls of libjpeg, libwebp and libpng.
    static func ceiling(onScreen: Bool = false, in folder: String) throws -> RivalProgram {
        try RivalProgram(
            onScreen ? ScreenResults.ceilingInGTK : ScreenResults.ceiling,
            "ceiling",
            modules: ["libcurl", "libjpeg", "libwebp", "libpng"] + (onScreen ? ["gtk4"] : []),
            onScreen: onScreen,
            in: folder
        )
    }

    /// libsoup with gdk-pixbuf in a pool of threads; `nil` when libsoup-3.0-dev is not installed.
    static func pixbuf(_ mode: String = "pixbuf", onScreen: Bool = false, in folder: String) throws -> RivalProgram? {
        guard try ChildProcess.run("pkg-config", ["--exists", "libsoup-3.0"]).exitCode == 0 else {
            print("libsoup is left out, since libsoup-3.0-dev is not installed")
            return nil
        }
        var program = try RivalProgram(
            mode == "texture" ? "libsoup, GdkTexture" : ScreenResults.pixbuf,
            "soup-pixbuf",
            modules: ["libsoup-3.0", "gtk4"],
            mode: [mode],
            onScreen: onScreen,
            in: folder
        )
        program.isOptional = true
        return program
    }

    /// Loads a list of URLs.
    func run(_ list: String, width: Int, height: Int) throws -> LoadFigures {
        try Self.run([path, list, "\(width)", "\(height)"] + mode)
    }

    /// Runs a program that prints its figures.
    static func run(_ command: [String]) throws -> LoadFigures {
        let result = try ChildProcess.run(command[0], Array(command.dropFirst()), seconds: 300)
        guard result.exitCode == 0, let figures = LoadFigures(result.output) else {
            throw ValidationError("\(command.joined(separator: " ")): \(result.output)")
        }
        return figures
    }
}
