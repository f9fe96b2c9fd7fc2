import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageTesting

@Suite("Flings in the gallery", .blocking, .serialized)
struct GalleryFlingTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-fling-\(UUID().uuidString)")

    /// The lines that a fling prints, by their names.
    private func fling(_ arguments: [String]) throws -> [String: String] {
        let cache = ["--cache-dir", folder.appending(path: "cache").path()]
        let result = try GalleryDisplay.xvfb.runGallery(arguments + cache)
        #expect(result.exitCode == 0 && result.output.warnings.isEmpty, "\(result.output)")
        var values: [String: String] = [:]
        for line in result.output.split(separator: "\n") {
            guard let colon = line.range(of: ": ") else { continue }
            values[String(line[..<colon.lowerBound])] = String(line[colon.upperBound...])
        }
        return values
    }

    /// The number with which a value begins.
    private func number(_ text: String?) throws -> Double {
        try #require(text?.split(whereSeparator: \.isWhitespace).first.flatMap { Double($0) })
    }

    @Test("A flung wall shows no wrong image, and its footer says so")
    func wall() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, trace) = (folder.appending(path: "wall.tiff"), folder.appending(path: "trace"))
        let options = ["--fling", "3", "--count", "5000", "--screenshot", file.path(), "--trace", trace.path()]
        let values = try fling(options)
        #expect(values["Images on the wall"] == "5000", "\(values)")
        // A fling of three seconds passes far more cells than the window has.
        let wrong = try #require(values["Wrong images"]?.split(separator: " "))
        #expect(wrong.count == 3 && wrong[0] == "0" && Int(wrong[2]) ?? 0 > 20, "\(values)")
        #expect((1...100).contains(try number(values["Frames per second"])), "\(values)")
        #expect((1...2000).contains(try number(values["Longest frame"])), "\(values)")
        #expect((0...100).contains(try number(values["Blank cells"])), "\(values)")
        let footer = try String(contentsOf: trace, encoding: .utf8).split(separator: "\n")
            .first { $0.contains(" images, ") }
        #expect(try #require(footer).hasPrefix("text 5,000 images, 0 wrong of \(wrong[2]) seen, "), "\(footer ?? "")")
    }

    @Test("Cells that show the image of another item are counted as wrong, though the library was asked for it")
    func wrongImages() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let values = try fling(["--fling", "3", "--wrong-images"])
        // Each fifth cell asks for the image of its neighbour.
        let words = try #require(values["Wrong images"]?.split(separator: " "))
        let (wrong, checked) = (try #require(Int(words[0])), try #require(words.last.flatMap { Int($0) }))
        #expect(checked > 30 && wrong > checked / 10 && wrong < checked / 3, "\(values)")
    }

    @Test(
        "A fling that means nothing is refused",
        arguments: [
            ["--fling", "0"], ["--fling", "inf"], ["--fling", "9999999"], ["--fling", "1", "--page", "zoom"],
        ]
    )
    func oddOptions(arguments: [String]) throws {
        let result = try ChildProcess.run(Program.gallery, arguments)
        // The status of a wrong command line (sysexits(3), EX_USAGE)
        #expect(result.exitCode == 64, "\(result.output)")
    }
}
