import Foundation
import TestTraits
import Testing
import WebImageCore
import WebImageTesting

/// Checks the files that the gallery installs for desktops and translators.
@Suite("The files of the gallery", .blocking, .serialized)
struct GalleryFileTests {
    private static let top = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

    private func file(_ path: String) -> String { "/\(Self.top)/\(path)" }

    private func text(_ path: String) throws -> String {
        try String(contentsOf: URL(filePath: file(path)), encoding: .utf8)
    }

    @Test("The desktop file and the metainfo are valid and name the same app")
    func validators() throws {
        let name = "data/org.gtkwebimage.Gallery"
        let desktop = try ChildProcess.run("desktop-file-validate", [file("\(name).desktop")])
        #expect(desktop.exitCode == 0 && desktop.output.isEmpty, "\(desktop.output)")
        let metainfo = try ChildProcess.run("appstreamcli", ["validate", "--no-net", file("\(name).metainfo.xml")])
        // The project has no home page, of which newer versions of AppStream warn.
        let problems = metainfo.output.split(separator: "\n")
            .filter { $0.hasPrefix("E: ") || ($0.hasPrefix("W: ") && !$0.hasSuffix(": url-homepage-missing")) }
        #expect(problems.isEmpty && metainfo.output.contains("Validation"), "\(metainfo.output)")
        #expect(try text("\(name).desktop").contains("Icon=org.gtkwebimage.Gallery\n"))
        #expect(try text("\(name).metainfo.xml").contains("<id>org.gtkwebimage.Gallery</id>"))
        for icon in ["scalable/apps/org.gtkwebimage.Gallery.svg", "symbolic/apps/org.gtkwebimage.Gallery-symbolic.svg"]
        {
            let svg = try text("data/icons/hicolor/\(icon)")
            #expect(try XMLDocumentCheck.isSound(svg))
        }
        let manifest = try JSONSerialization.jsonObject(with: Data(text("\(name).json").utf8)) as? [String: Any]
        #expect(manifest?["id"] as? String == "org.gtkwebimage.Gallery")
        #expect(manifest?["command"] as? String == "webimage-gallery")
    }

    @Test("The metainfo, the changelog and the sample for a manifest name the version of the library")
    func version() throws {
        let version = LibraryVersion.current
        let release = try newestRelease()
        #expect(release.contains("version=\"\(version)\""))
        #expect(try newestChanges().hasPrefix("## [\(version)] - "))
        #expect(try text("Sources/GtkWebImage/GtkWebImage.docc/APIPolicy.md").contains("from: \"\(version)\""))
    }

    @Test("The changelog, the metainfo and the README agree whether the version is released")
    func released() throws {
        let isReleased = try !newestChanges().hasSuffix("] - unreleased")
        #expect(try newestRelease().contains("type=\"development\"") == !isReleased)
        #expect(try text("README.md").contains("is not released yet") == !isReleased)
    }

    /// The heading of the newest version in the changelog, which comes after that of unreleased changes.
    private func newestChanges() throws -> Substring {
        let headings = try text("CHANGELOG.md").split(separator: "\n").filter { $0.hasPrefix("## ") }
        #expect(headings.first == "## [Unreleased]")
        return try #require(headings.dropFirst().first)
    }

    /// The line of the newest version in the metainfo.
    private func newestRelease() throws -> Substring {
        let metainfo = try text("data/org.gtkwebimage.Gallery.metainfo.xml")
        return try #require(metainfo.split(separator: "\n").first { $0.contains("<release ") })
    }

    @Test("All texts can be translated, those for errors too, and a translation is used")
    func translations() throws {
        let check = try ChildProcess.run(file("data/po/update"), ["--check"])
        #expect(check.exitCode == 0, "\(check.output)")
        let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-po-\(UUID().uuidString)")
        let messages = folder.appending(path: "de/LC_MESSAGES")
        try FileManager.default.createDirectory(at: messages, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let compiled = messages.appending(path: "gtkwebimage-gallery.mo").path()
        let result = try ChildProcess.run("msgfmt", ["--check", "-o", compiled, file("data/po/de.po")])
        #expect(result.exitCode == 0, "\(result.output)")
        // A bare Debian has only the locales C and C.UTF-8, in which glibc 2.39 and later does not translate.
        let locale = folder.appending(path: "de_DE.UTF-8").path()
        let definition = try ChildProcess.run("localedef", ["-i", "de_DE", "-f", "UTF-8", locale])
        #expect(definition.exitCode == 0, "\(definition.output)")
        let trace = folder.appending(path: "trace").path()
        let run = try GalleryDisplay.broadway.withEnvironment { environment in
            let german = ["TEXTDOMAINDIR": folder.path(), "LOCPATH": folder.path(), "LC_ALL": "de_DE.UTF-8"]
            return try ChildProcess.run(
                Program.gallery,
                [
                    "--page", "failures", "--trace", trace, "--screenshot", "\(trace).png",
                    "--cache-dir", "\(trace).cache",
                ],
                environment: Program.strict(environment).merging(german) { $1 }
            )
        }
        #expect(run.exitCode == 0, "\(run.output)")
        let lines = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
        for text in ["Knöpfe und Symbole", "Der Server hat dieses Bild nicht.", "Die Verbindung ist abgebrochen."] {
            #expect(lines.contains("text \(text)"), "\(text)")
        }
    }
}

/// Checks XML with the parser of Python.
private enum XMLDocumentCheck {
    static func isSound(_ text: String) throws -> Bool {
        let result = try ChildProcess.run(
            "python3",
            ["-c", "import sys, xml.dom.minidom as x; x.parseString(sys.argv[1])", text]
        )
        return result.exitCode == 0
    }
}
