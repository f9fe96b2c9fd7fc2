import Foundation
import TestTraits
import Testing
import WebImageTesting

/// Runs the gallery on its own server.
@Suite("The server of the gallery", .blocking, .serialized)
struct GalleryServerTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-served-\(UUID().uuidString)")

    /// Shows a page until its images are there.
    /// - Returns: The paths that were requested of the server.
    private func requests(of page: String) throws -> [Substring] {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let trace = folder.appending(path: "trace")
        let result = try GalleryDisplay.broadway.runGallery([
            "--page", page, "--trace", trace.path(), "--screenshot", folder.appending(path: "window.png").path(),
            "--cache-dir", folder.appending(path: "cache").path(),
        ])
        #expect(result.exitCode == 0, "\(result.output)")
        let lines = try String(contentsOf: trace, encoding: .utf8).split(separator: "\n")
        return lines.filter { $0.hasPrefix("requested ") }.map { $0.dropFirst("requested ".count) }
    }

    @Test("A second start shows the wall from disk without a request")
    func secondStart() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = try requests(of: "wall")
        #expect(first.count > 12)
        // Rows that were still being prefetched at the end of the first start are not on disk.
        #expect(Set(first.prefix(12)).isDisjoint(with: try requests(of: "wall")))
    }

    @Test("The other pages load anew at each start, and leave nothing on disk")
    func freshPages() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        for _ in 0..<2 { #expect(try requests(of: "accessibility").count == 4) }
        let cache = folder.appending(path: "cache").path()
        let files = try FileManager.default.subpathsOfDirectory(atPath: cache).filter { $0.contains(".") }
        #expect(files == ["CACHEDIR.TAG"])
    }
}
