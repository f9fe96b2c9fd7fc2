import Foundation
import TestTraits
import Testing
import WebImageTesting

/// Builds the documentation of all modules as a site and reads it, as Tests/docs check does.
@Suite("The site of the documentation", .blocking, .serialized)
struct DocumentationSiteTests {
    private static let top = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    private static let products = Program.gallery.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
    private static let check = Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-docs-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        return try ChildProcess.run(
            "\(top)/Tests/docs",
            ["check", "--products", products, "--output", folder.appending(path: "site").path()],
            seconds: 300
        )
    }
    private static let hasChromium = ["/usr/bin", "/usr/local/bin"].contains {
        FileManager.default.isExecutableFile(atPath: "\($0)/chromium")
    }

    @Test("Each link leads to a page, each page has text, and each landing page names all types of its module")
    func files() throws {
        let check = try Self.check.get()
        #expect(check.exitCode == 0, "\(check.output)")
    }

    @Test(
        "Chromium shows the landing pages, all articles and a sample of the reference",
        .enabled(if: hasChromium, "Chromium is not installed (Debian: chromium).")
    )
    func browser() throws {
        let check = try Self.check.get()
        #expect(check.exitCode == 0, "\(check.output)")
        #expect(check.output.contains("Chromium opened"), "\(check.output)")
    }
}
