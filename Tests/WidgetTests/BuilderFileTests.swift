import Foundation
import TestTraits
import Testing
import WebImageTesting

/// Checks the files of GtkBuilder and Blueprint in Demo/Examples with the tools of GTK and Blueprint.
@Suite("The files for GtkBuilder", .blocking, .serialized)
struct BuilderFileTests {
    private static let top = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    private static let page = "Sources/GtkWebImageBuilder/GtkWebImageBuilder.docc/GtkWebImageBuilder.md"

    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(Self.top)/\(path)", encoding: .utf8)
    }

    /// The blocks of a language in the page.
    private func samples(_ language: String) throws -> [String] {
        try text(Self.page).matches(of: try Regex("```\(language)\n(.*?)```").dotMatchesNewlines())
            .compactMap { $0.output[1].substring.map(String.init) }
    }

    @Test("gtk4-builder-tool validates WebPicture with the library that the page has it preload")
    func validation() throws {
        let folder = TemporaryDirectory()
        // Given the commands of the page, and a file with a mistake
        let commands = try #require(samples("sh").first).split(separator: "\n").map(String.init)
        #expect(commands.count == 2)
        let build = try ChildProcess.run("sh", ["-c", "cd \(folder.path); PACKAGE=\(Self.top); \(commands[0])"])
        #expect(build.exitCode == 0, "\(build.output)")
        let file = try text("Demo/Examples/Blueprint/window.ui")
        let wrong = file.replacing(#"name="uri""#, with: #"name="url""#)
        for (name, text) in ["window": file, "wrong": wrong] {
            try text.write(toFile: "\(folder.path)/\(name).ui", atomically: true, encoding: .utf8)
        }
        try GalleryDisplay.broadway.withEnvironment { environment in
            func validate(_ command: String, _ name: String) throws -> ChildProcess {
                let command = command.replacing("window.ui", with: "\(name).ui")
                return try ChildProcess.run("sh", ["-c", "cd \(folder.path); \(command)"], environment: environment)
            }
            // Then the tool takes the file, and names the mistake
            let valid = try validate(commands[1], "window")
            #expect(valid.exitCode == 0 && valid.output.isEmpty, "\(valid.output)")
            let invalid = try validate(commands[1], "wrong")
            #expect(invalid.exitCode != 0 && invalid.output.contains("WebPicture.url"), "\(invalid.output)")
            // And without the library it does not know the type
            let plain = try validate("gtk4-builder-tool validate window.ui", "window")
            #expect(plain.exitCode != 0 && plain.output.contains("WebPicture"), "\(plain.output)")
        }
    }

    @Test("The window of the example in Blueprint is what its source compiles to")
    func blueprint() throws {
        let folder = TemporaryDirectory()
        guard let version = try? ChildProcess.run("blueprint-compiler", ["--version"]), version.exitCode == 0 else {
            #if compiler(>=6.3)
                try Test.cancel("blueprint-compiler is not installed")
            #else
                return
            #endif
        }
        var source = try text("Demo/Examples/Blueprint/window.blp")
        // Until 0.8 a period marked the types of others.
        let isOld = ["0.6.", "0.4.", "0.2."].contains { version.output.hasPrefix($0) }
        if isOld { source = source.replacing("$WebPicture", with: ".WebPicture") }
        try source.write(toFile: "\(folder.path)/window.blp", atomically: true, encoding: .utf8)
        let result = try ChildProcess.run("blueprint-compiler", ["compile", "\(folder.path)/window.blp"])
        #expect(result.exitCode == 0, "\(result.output)")
        let isEqual = try plain(result.output) == plain(text("Demo/Examples/Blueprint/window.ui"))
        #expect(isEqual, "\(result.output)")
    }

    /// A file without the note of newer compilers that it is generated.
    private func plain(_ file: String) -> String {
        file.replacing(/<!--.*?-->\n/.dotMatchesNewlines(), with: "").trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test("The file of the page is that of the example")
    func sample() throws {
        let example = try text("Demo/Examples/UIFile/window.ui").split(separator: "\n").map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        let lines = try #require(samples("xml").first).split(separator: "\n").map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        let start = try #require(example.firstIndex(of: lines[0]))
        #expect(Array(example[start...].prefix(lines.count)) == lines)
    }
}
