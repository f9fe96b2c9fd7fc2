import Foundation
import TestTraits
import Testing
import WebImageTesting

/// Runs the gallery on its own server.
@Suite("The server of the gallery", .blocking, .serialized)
struct GalleryServerTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-served-\(UUID().uuidString)")

    /// What a start of the gallery has written in its trace.
    private struct Start {
        /// The paths that were requested of the server.
        var requested: [Substring] = []
        /// The paths of the cells in view.
        var shown: [Substring] = []
    }

    /// Shows a page until its images are there.
    private func start(_ page: String) throws -> Start {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let trace = folder.appending(path: "trace")
        let result = try GalleryDisplay.broadway.runGallery([
            "--page", page, "--trace", trace.path(), "--screenshot", folder.appending(path: "window.png").path(),
            "--cache-dir", folder.appending(path: "cache").path(),
        ])
        #expect(result.exitCode == 0, "\(result.output)")
        let lines = try String(contentsOf: trace, encoding: .utf8).split(separator: "\n")
        let cells = lines.filter { $0.hasPrefix("rest ") }
            .compactMap { URL(string: String($0.split(separator: " ")[1])) }
        return Start(
            requested: lines.filter { $0.hasPrefix("requested ") }.map { $0.dropFirst("requested ".count) },
            shown: cells.map { $0.path()[...] }
        )
    }

    @Test("A second start shows the wall from disk without a request")
    func secondStart() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = try start("wall")
        #expect(first.shown.count >= 12 && Set(first.shown).isSubset(of: first.requested), "\(first)")
        // Rows that were still being prefetched at the end of the first start are not on disk.
        // An animation is shown before all of it has arrived.
        let animations: Set = ["gif", "webp"]
        let complete = first.shown.filter { !animations.contains(String($0.split(separator: ".").last ?? "")) }
        let second = try start("wall")
        #expect(complete.count > 12 && Set(complete).isDisjoint(with: second.requested), "\(second)")
    }

    @Test("The other pages load anew at each start, and leave nothing on disk")
    func freshPages() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        for _ in 0..<2 { #expect(try start("accessibility").requested.count == 4) }
        let cache = folder.appending(path: "cache").path()
        let files = try FileManager.default.subpathsOfDirectory(atPath: cache).filter { $0.contains(".") }
        #expect(files == ["CACHEDIR.TAG"])
    }
}
