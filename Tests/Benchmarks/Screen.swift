import ArgumentParser
import Foundation
import TestSupport
import WebImageCore
import WebImageTesting

/// Measures a screen of images beside C programs that do the same, each run in a process of its own.
struct Screen: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "A window of 500 images beside libcurl with the plain decoders, also in GTK, and libsoup with gdk-pixbuf.",
        discussion: """
            Without options every kind of list is measured: JPEG, the same over TLS and HTTP/2 and in local files, WebP, PNG, \
            progressive JPEG without and with partial images, and JPEG at full size.
            """
    )

    @Option(
        help:
            "A kind of list, or how --list is loaded: \(ScreenList.Kind.allCases.map(\.rawValue).joined(separator: ", "))."
    )
    var kind: [ScreenList.Kind] = []
    @Option(help: "A file with one URL per line, in place of the lists that are made.")
    var list: String?
    @Option(help: "The number of images. Default: that of the kind.")
    var count: Int?
    @Option(help: "The width of the widgets in pixels.")
    var width = 256
    @Option(help: "The height of the widgets in pixels.")
    var height = 192
    @Option(help: "The width of the files that are made. Default: that of the kind.")
    var imageWidth: Int?
    @Option(help: "The height of the files that are made. Default: that of the kind.")
    var imageHeight: Int?
    @Flag(help: "Load the JPEG files of the gallery, whose sizes differ, in place of generated ones.")
    var gallery = false
    @Option(help: "The number of rounds. Each program runs once per round.")
    var rounds = 5
    @Flag(help: "Only the library and the ceiling in GTK.")
    var brief = false
    @Flag(help: "Load the list once, in this process, and print the figures.")
    var once = false
    @Option(help: "The folder of the disk cache, with --once. Default: none.")
    var cache: String?
    @Option(help: "The file of the certificate authority, with --list and --once.")
    var authority = ""
    @Flag(help: "Print when the first images took each step, with --once.")
    var timeline = false
    @Option(help: DecodingMode.help)
    var decoding = DecodingMode.sandboxed

    func run() throws {
        // ArgumentParser calls run() on the main thread.
        try MainActor.assumeIsolated { if once { try loadOnce() } else { try compareAll() } }
    }

    @MainActor
    private func loadOnce() throws {
        guard let list else { throw ValidationError("--once needs --list") }
        let urls = try ScreenList(file: list).urls
        var load = ScreenApp.Load(urls: urls, size: PixelSize(width: width, height: height), cache: cache)
        load.authorityFile = authority
        load.isFullSize = kind == [.full]
        load.showsPartialImages = kind == [.partial]
        load.printsTimeline = timeline
        load.decoding = decoding
        print(try ScreenApp(load).run().line)
    }

    private func compareAll() throws {
        let display = try XvfbDisplay.start(size: PixelSize(width: 1920, height: 1200))
        defer { display.stop() }
        display.exportEnvironment()
        setenv("GSK_RENDERER", "gl", 1)
        let programs = TemporaryDirectory()
        if let list {
            var list = try ScreenList(file: list, as: kind.first)
            list.authorityFile = authority
            print(try compare(list, programs.path).table())
            return
        }
        var summary = ScreenSummary()
        for kind in kind.isEmpty ? ScreenList.Kind.allCases : kind {
            let folder = TemporaryDirectory()
            let size = imageWidth.flatMap { width in imageHeight.map { PixelSize(width: width, height: $0) } }
            let list = try ScreenList(kind, count: count, size: size, isFromGallery: gallery, in: folder.path)
            let results = try compare(list, programs.path)
            print(results.table())
            summary.add(kind, results)
        }
        print(
            "\nMedians of \(rounds) rounds, \(decoding). 1 is the time of \(ScreenResults.ceilingInGTK).\n\(summary.table())"
        )
    }

    private func compare(_ list: ScreenList, _ programs: String) throws -> ScreenResults {
        let folder = TemporaryDirectory()
        let file = "\(folder.path)/list"
        try list.urls.map(\.absoluteString).joined(separator: "\n").write(
            toFile: file,
            atomically: true,
            encoding: .utf8
        )
        if !list.authorityFile.isEmpty { setenv("RIVAL_AUTHORITY", list.authorityFile, 1) }
        let isFullSize = list.kind == .full
        let (width, height) = isFullSize ? (0, 0) : (width, height)
        let ceiling = try RivalProgram.ceiling(onScreen: true, in: programs)
        var rivals = [ceiling]
        if !brief {
            rivals.insert(try RivalProgram.ceiling(in: programs), at: 0)
            if let pixbuf = try RivalProgram.pixbuf(onScreen: true, in: programs) { rivals.append(pixbuf) }
        }
        print("\(list.title), at \(isFullSize ? "full size" : "\(width)x\(height)"), \(decoding), \(rounds) rounds")
        let pixels = isFullSize ? 0 : Double(list.urls.count * width * height * 4) / 1_048_576
        var results = ScreenResults(pixelMegabytes: pixels)
        // All are kept until the end, since ext4 is slow to make files for minutes after others were removed.
        let caches = (0..<rounds).map { _ in TemporaryDirectory() }
        for cache in caches {
            for rival in rivals {
                do {
                    results.add(rival.name, try rival.run(file, width: width, height: height))
                } catch let error where rival.isOptional {
                    print("\(rival.name) is left out: \(error)")
                    rivals.removeAll { $0.name == rival.name }
                }
            }
            results.add(ScreenResults.uncached, try library(list, file, cache: nil))
            results.add(ScreenResults.cold, try library(list, file, cache: cache.path))
            results.add(ScreenResults.warm, try library(list, file, cache: cache.path))
        }
        withExtendedLifetime((caches, list)) {}
        return results
    }

    private func library(_ list: ScreenList, _ file: String, cache: String?) throws -> LoadFigures {
        var arguments = ["screen", "--once", "--list", file, "--width", "\(width)", "--height", "\(height)"]
        arguments += ["--decoding", decoding.rawValue]
        if let cache { arguments += ["--cache", cache] }
        if let kind = list.kind { arguments += ["--kind", kind.rawValue] }
        if !list.authorityFile.isEmpty { arguments += ["--authority", list.authorityFile] }
        return try RivalProgram.run([CommandLine.arguments[0]] + arguments)
    }
}
