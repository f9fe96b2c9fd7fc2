import Foundation
import TestTraits
import Testing
import WebImageTesting

/// Compares the committed lists of the public API with the built modules.
@Suite("The public API", .blocking, .serialized)
struct PublicAPITests {
    private static let top = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    private static let build = Program.gallery.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }

    @Test(
        "The public API equals the committed list, which GWI_UPDATE_API=1 writes anew after an intended change",
        arguments: [
            "WebImageCore", "WebImageLinux", "GtkWebImage", "GtkWebImageWidgets", "GtkWebImageInspector",
            "WebImageTesting",
        ]
    )
    func list(module: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-api-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let result = try ChildProcess.run(
            "swift",
            [
                "symbolgraph-extract", "-module-name", module, "-minimum-access-level", "public", "-output-dir",
                folder.path(),
            ]
                + ["-target", Self.target, "-I", "\(Self.build)/Modules"] + Self.moduleMaps + Self.headers,
            seconds: 120
        )
        #expect(result.exitCode == 0, "\(result.output)")
        let lines = try Self.declarations(of: module, in: folder)
        #expect(lines.count >= 4)
        let file = URL(filePath: "\(Self.top)/Tests/PublicAPI/\(module).txt")
        let text = lines.joined(separator: "\n") + "\n"
        if ProcessInfo.processInfo.environment["GWI_UPDATE_API"] != nil {
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        let known = Set(try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init))
        let added = lines.filter { !known.contains($0) }
        let removed = known.subtracting(lines).sorted()
        #expect(added.isEmpty, "New: \(added.joined(separator: "\n"))")
        #expect(removed.isEmpty, "Gone: \(removed.joined(separator: "\n"))")
    }

    /// The sorted declarations of a module, each after the names of the types that contain it.
    private static func declarations(of module: String, in folder: URL) throws -> [String] {
        var lines = Set<String>()
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        where file.lastPathComponent.hasPrefix(module) {
            let graph = try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: file))
            for symbol in graph.symbols where !symbol.identifier.precise.contains("::SYNTHESIZED::") {
                let declaration = (symbol.declarationFragments ?? []).map(\.spelling).joined()
                    .split(whereSeparator: \.isWhitespace).joined(separator: " ")
                lines.insert("\(symbol.pathComponents.joined(separator: ".")): \(declaration)")
            }
        }
        return lines.sorted()
    }

    private struct SymbolGraph: Decodable {
        struct Symbol: Decodable {
            struct Identifier: Decodable { let precise: String }
            struct Fragment: Decodable { let spelling: String }

            let identifier: Identifier
            let pathComponents: [String]
            let declarationFragments: [Fragment]?
        }

        let symbols: [Symbol]
    }

    private static var target: String {
        #if arch(arm64)
            "aarch64-unknown-linux-gnu"
        #else
            "x86_64-unknown-linux-gnu"
        #endif
    }

    /// The options that name the module maps of the C libraries and of the C targets.
    private static var moduleMaps: [String] {
        [("\(top)/Sources/CLibraries", ""), (build, ".build")].flatMap { folder, ending in
            ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
                .filter { $0.hasPrefix("CWebImage") && $0.hasSuffix(ending) }
                .map { "\(folder)/\($0)/module.modulemap" }
                .filter { FileManager.default.fileExists(atPath: $0) }
                .sorted()
                .flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
        }
    }

    private static var headers: [String] {
        let result = try? ChildProcess.run("pkg-config", ["--cflags-only-I", "gtk4", "gdk-pixbuf-2.0", "libwebp"])
        return (result?.output ?? "").split(whereSeparator: \.isWhitespace).flatMap { ["-Xcc", String($0)] }
    }
}
