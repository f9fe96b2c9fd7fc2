import ArgumentParser
import Foundation
import TestSupport
import WebImageTesting

/// Compares the whole pipeline with C programs that do the same, each in a process of its own.
struct Rivals: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "A list of JPEG files, cold, beside libsoup with gdk-pixbuf or GdkTexture, and beside libcurl with libjpeg."
    )

    @Flag(
        help: "Load the images of `loading`, whose grain makes large files, instead of the large ones of the gallery."
    )
    var generated = false
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
        let gallery = ShippedImage.all.filter { $0.hasSuffix(".jpg") }.map(ShippedImage.data)
        let images = generated ? nil : gallery.filter { $0.count > 80_000 }
        let (server, urls) = try Photograph.serve(count: count, images: images)
        let list = "\(folder.path)/list"
        try urls.map(\.absoluteString).joined(separator: "\n").write(toFile: list, atomically: true, encoding: .utf8)
        let rivals = try Self.build(in: folder.path)
        let size = ["\(width)", "\(height)"]
        var measurements = Rounds()
        var (firsts, peaks) = ([String: [Double]](), [String: [Double]]())
        print("\(count) JPEG images at \(width)x\(height) over HTTP/1.1, 6 connections, \(rounds) rounds")
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
            let ratio = Rounds.format(measurements.ratio(name, to: Self.ceiling))
            let first = Rounds.format(Rounds.median(firsts[name] ?? []))
            let peak = Int(Rounds.median(peaks[name] ?? []))
            print("\(name): \(wall) s, \(ratio) of the ceiling; first 16 after \(first) s; peak \(peak) MB")
        }
        let ratio = measurements.ratio("GtkWebImage", to: Self.ceiling)
        Limits.check("library to libcurl with libjpeg", ratio, atMost: 1.8)
        withExtendedLifetime(server) {}
    }

    private struct Program {
        var name: String
        var program: String
        var mode: [String] = []
    }

    private static let ceiling = "libcurl, libjpeg (the ceiling)"

    /// Compiles the programs of Tests/Rivals whose libraries are installed.
    private static func build(in folder: String) throws -> [Program] {
        let ceilingProgram = try compile("ceiling", modules: ["libcurl", "libjpeg"], in: folder)
        guard try ChildProcess.run("pkg-config", ["--exists", "libsoup-3.0"]).exitCode == 0 else {
            print("libsoup is left out, since libsoup-3.0-dev is not installed")
            return [Program(name: ceiling, program: ceilingProgram)]
        }
        let soup = try compile("soup-pixbuf", modules: ["libsoup-3.0", "gtk4"], in: folder)
        return [
            Program(name: ceiling, program: ceilingProgram),
            Program(name: "libsoup, gdk-pixbuf", program: soup, mode: ["pixbuf"]),
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
