import ArgumentParser
import Foundation
import TestSupport
import WebImageTesting

/// Compares the whole pipeline with C programs that do the same, each in a process of its own.
struct Rivals: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "A list of files, cold, beside libsoup with gdk-pixbuf or GdkTexture, and libcurl with libjpeg or libpng."
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
    @Option(help: DecodingMode.help)
    var decoding = DecodingMode.sandboxed
    @Option(help: "The number of rounds. Each rival runs once per round.")
    var rounds = 7

    func run() throws {
        let folder = TemporaryDirectory()
        let (server, urls) = try Photograph.serve(count: count, images: try images(in: folder.path))
        let list = "\(folder.path)/list"
        try urls.map(\.absoluteString).joined(separator: "\n").write(toFile: list, atomically: true, encoding: .utf8)
        let rivals = try build(in: folder.path)
        let reference = rivals[0].name
        var measurements = Rounds()
        var (firsts, peaks) = ([String: [Double]](), [String: [Double]]())
        print(
            "\(count) images (\(format)) at \(width)x\(height) over HTTP/1.1, 6 connections, \(decoding), \(rounds) rounds"
        )
        func add(_ name: String, _ figures: LoadFigures) {
            measurements.add(name, seconds: figures.wall)
            firsts[name, default: []].append(figures.first)
            peaks[name, default: []].append(figures.peak)
        }
        for _ in 0..<rounds {
            let cache = TemporaryDirectory()
            let library = [
                CommandLine.arguments[0], "loading", "--list", list, "--cache", cache.path, "--width", "\(width)",
                "--height", "\(height)", "--decoding", decoding.rawValue,
            ]
            add("GtkWebImage", try RivalProgram.run(library))
            for rival in rivals { add(rival.name, try rival.run(list, width: width, height: height)) }
        }
        for name in ["GtkWebImage"] + rivals.map(\.name) {
            let wall = Rounds.format(Rounds.median(measurements.seconds[name] ?? []))
            let ratio = Rounds.format(measurements.ratio(name, to: reference))
            let first = Rounds.format(Rounds.median(firsts[name] ?? []))
            let peak = Int(Rounds.median(peaks[name] ?? []))
            print("\(name): \(wall) s, \(ratio) of \(reference); first 16 after \(first) s; peak \(peak) MB")
        }
        Limits.check("library to \(reference)", measurements.ratio("GtkWebImage", to: reference), atMost: 1.6)
        withExtendedLifetime(server) {}
    }

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
            return try (0..<16).map { try Photograph.progressiveJPEG(seed: $0, in: folder) }
        }
    }

    private func build(in folder: String) throws -> [RivalProgram] {
        [try RivalProgram.ceiling(in: folder)]
            + [try RivalProgram.pixbuf(in: folder), try RivalProgram.pixbuf("texture", in: folder)].compactMap { $0 }
    }
}
