import Foundation
import TestTraits
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Checks the figures of the documentation, which Demo/screenshots makes.
@Suite("The figures of the documentation", .blocking, .serialized)
struct FigureTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources")
    private static let catalogs = [
        "GtkWebImage/GtkWebImage.docc", "GtkWebImageZoom/GtkWebImageZoom.docc", "WebImageCore/WebImageCore.docc",
    ]

    /// The files in the catalogs, by their names.
    private static let files = catalogs.flatMap { catalog in
        let folder = sources.appending(path: "\(catalog)/Resources")
        return (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
    }
    .filter { ["jpg", "gif"].contains($0.pathExtension) }

    @Test(
        "Each has its place beside the description of what it shows",
        arguments: [
            ("GtkWebImage/Display/Transitions/ImageTransition.swift", "public static func ", []),
            ("GtkWebImage/Display/Indicators/ImageIndicator.swift", "public static ", []),
            ("GtkWebImage/Display/Content/ImagePlaceholder.swift", "public static func ", []),
            ("GtkWebImage/Binding/ImageContentFit.swift", "case ", ["case .", "case GTK"]),
            ("WebImageCore/Processing/Steps/ResizeStep.swift", "case ", ["case ."]),
            // What an app does itself has no look.
            (
                "WebImageCore/Processing/ImageTransformer.swift", "public static ",
                ["func ==", "func +", "func custom("]
            ),
        ]
    )
    func places(file: String, start: String, exceptions: [String]) throws {
        let text = try String(contentsOf: Self.sources.appending(path: file), encoding: .utf8)
        var (hasFigure, count) = (false, 0)
        for line in text.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
            if line.hasPrefix("///") {
                hasFigure = hasFigure || line.hasPrefix("/// ![")
                continue
            }
            // Attributes stand between a docstring and what it describes.
            if line.hasPrefix("@") { continue }
            defer { hasFigure = false }
            guard line.hasPrefix(start), !exceptions.contains(where: line.contains) else { continue }
            count += 1
            #expect(hasFigure, "\(file) has no figure for \(line)")
        }
        #expect(count >= 4, "Nothing is found in \(file)")
    }

    @Test("The scenarios' program makes all of them, and those of transitions and indicators move")
    func made() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-figures-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        for extra in [[], ["--dark"]] {
            let environment = Program.strict(["GWI_DISPLAY": "xvfb", "GSK_RENDERER": "cairo"])
            let arguments = ["--figures", folder.path()] + extra
            let run = try ChildProcess.run(Program.scenarios, arguments, environment: environment, seconds: 300)
            #expect(run.exitCode == 0, "\(run.output)")
        }
        // The icon of the dark style stands on its dark background.
        let dark = try WebImage(contentsOf: folder.appending(path: "placeholder-icon~dark.jpg"))
        #expect(try #require(dark.color(x: 2, y: 2)).rgba >> 24 < 0x60)
        let made = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let names = Set(made.map(\.lastPathComponent))
        let kept = Set(Self.files.map(\.lastPathComponent).filter { !$0.hasPrefix("gallery-") })
        #expect(names == kept, "Run Demo/screenshots: \(names.symmetricDifference(kept).sorted())")
        for file in made {
            let image = try WebImage(contentsOf: file)
            let moves =
                file.lastPathComponent.hasPrefix("transition-") || file.lastPathComponent.hasPrefix("indicator-")
            #expect(moves ? image.frameCount > 10 : image.frameCount == 1, "\(file.lastPathComponent)")
        }
    }

    @Test("All files of Demo/screenshots have at most 3 MB")
    func size() throws {
        let sizes = try Self.files.map { try Data(contentsOf: $0).count }
        #expect(sizes.count > 50)
        #expect(sizes.reduce(0, +) <= 3_000_000)
    }
}
