import ArgumentParser
import Foundation
import TestSupport
import WebImageTesting

/// Compares the whole pipeline with C programs that do the same, each in a process of its own.
struct Rivals: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "A list of files, cold, beside libsoup with gdk-pixbuf or GdkTexture, and JPEG beside libcurl with libjpeg."
    )

    /// What the generated images are stored as.
    enum Format: String, ExpressibleByArgument, CaseIterable { case jpeg, progressive, png }

    @Flag(
        help: "Load the images of `loading`, whose grain makes large files, instead of the large ones of the gallery."
    )
    var generated = false
    @Option(help: "The format of the images: jpeg, progressive (JPEG) or png. The last two are generated.")
    var format = Format.jpeg
    @Option(help: "The number of images.")
    var count = 500
    @Option(help: "The width of the box in pixels.")
    var width = 256
    @Option(help: "The height of the box in pixels.")
    var height = 192
    @Option(help: "The number of rounds. Each rival runs once per round.")
    var rounds = 7

    func run() throws {
        let folder = TemporaryDirectory()
        let (server, urls) = try Photograph.serve(count: count, images: try images(in: folder.path))
        let list = "\(folder.path)/list"
        try urls.map(\.absoluteString).joined(separator: "\n").write(toFile: list, atomically: true, encoding: .utf8)
        let rivals = try build(in: folder.path)
        let reference = format == .png ? Self.pixbuf : Self.ceiling
        let size = ["\(width)", "\(height)"]
        var measurements = Rounds()
        var (firsts, peaks) = ([String: [Double]](), [String: [Double]]())
        print("\(count) images (\(format)) at \(width)x\(height) over HTTP/1.1, 6 connections, \(rounds) rounds")
        for _ in 0..<rounds {
            let cache = TemporaryDirectory()
            let library = [
                CommandLine.arguments[0], "loading", "--list", list, "--cache", cache.path, "--width", size[0],
                "--height", size[1],
            ]
            let commands = [("GtkWebImage", library)] + rivals.map { ($0.name, [$0.program, list] + size + $0.mode) }
            for (name, command) in commands {
                let result = try Self.measure(command)
                measurements.add(name, seconds: result.wall)
                firsts[name, default: []].append(result.first)
                peaks[name, default: []].append(result.peak)
            }
        }
        for name in ["GtkWebImage"] + rivals.map(\.name) {
            let wall = Rounds.format(Rounds.median(measurements.seconds[name] ?? []))
            let ratio = Rounds.format(measurements.ratio(name, to: reference))
            let first = Rounds.format(Rounds.median(firsts[name] ?? []))
            let peak = Int(Rounds.median(peaks[name] ?? []))
            print("\(name): \(wall) s, \(ratio) of \(reference); first 16 after \(first) s; peak \(peak) MB")
        }
        let limit = format == .png ? 1.1 : 1.8
        Limits.check("library to \(reference)", measurements.ratio("GtkWebImage", to: reference), atMost: limit)
        withExtendedLifetime(server) {}
    }

    private struct Program {
        var name: String
        var program: String
        var mode: [String] = []
    }

    private static let ceiling = "libcurl, libjpeg (the ceiling)"
    private static let pixbuf = "libsoup, gdk-pixbuf"

    /// - Returns: `nil` for the generated JPEG files of `loading`.
    private func images(in folder: String) throws -> [Data]? {
        switch format {
        case .jpeg:
            guard !generated else { return nil }
            let gallery = ShippedImage.all.filter { $0.hasSuffix(".jpg") }.map(ShippedImage.data)
            return gallery.filter { $0.count > 80_000 }
        case .png:
            return (0..<4).map { Photograph.file(seed: $0, size: Photograph.size, format: .png) }
        case .progressive:
            let (source, target) = ("\(folder)/source.jpg", "\(folder)/progressive.jpg")
            return try (0..<16).map { seed in
                try Photograph.jpeg(seed: seed).write(to: URL(filePath: source))
                let result = try ChildProcess.run("jpegtran", ["-progressive", "-outfile", target, source])
                guard result.exitCode == 0 else { throw ValidationError("jpegtran: \(result.output)") }
                return try Data(contentsOf: URL(filePath: target))
            }
        }
    }

    /// Compiles the programs of Tests/Rivals whose libraries are installed.
    private func build(in folder: String) throws -> [Program] {
        let ceilingProgram = try Self.compile("ceiling", modules: ["libcurl", "libjpeg"], in: folder)
        guard try ChildProcess.run("pkg-config", ["--exists", "libsoup-3.0"]).exitCode == 0 else {
            print("libsoup is left out, since libsoup-3.0-dev is not installed")
            guard format != .png else { throw ValidationError("Install libsoup-3.0-dev, which PNG is compared with.") }
            return [Program(name: Self.ceiling, program: ceilingProgram)]
        }
        let soup = try Self.compile("soup-pixbuf", modules: ["libsoup-3.0", "gtk4"], in: folder)
        let ceiling = Program(name: Self.ceiling, program: ceilingProgram)
        return (format == .png ? [] : [ceiling]) + [
            Program(name: Self.pixbuf, program: soup, mode: ["pixbuf"]),
            Program(name: "libsoup, GdkTexture", program: soup, mode: ["texture"]),
        ]
    }

    private static func compile(_ name: String, modules: [String], in folder: String) throws -> String {
        let flags = "$(pkg-config --cflags --libs \(modules.joined(separator: " ")))"
        let command = "cc -O3 -o '\(folder)/\(name)' Tests/Rivals/\(name).c \(flags) -pthread"
        let result = try ChildProcess.run("sh", ["-c", command])
        guard result.exitCode == 0 else { throw ValidationError("\(command): \(result.output)") }
        return "\(folder)/\(name)"
    }

    /// Runs a program that prints the seconds that it took, those until 16 images were there, and its peak memory.
    private static func measure(_ command: [String]) throws -> (wall: Double, first: Double, peak: Double) {
        let result = try ChildProcess.run(command[0], Array(command.dropFirst()), seconds: 300)
        let pattern = /wall (?<wall>[0-9.]+) s, first 16 (?<first>[0-9.]+) s[^!]*peak (?<peak>[0-9]+) MB/
        guard result.exitCode == 0, let found = result.output.firstMatch(of: pattern),
            let wall = Double(found.wall), let first = Double(found.first), let peak = Double(found.peak)
        else { throw ValidationError("\(command): \(result.output)") }
        return (wall, first, peak)
    }
}
