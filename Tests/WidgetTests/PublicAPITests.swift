import Foundation
import TestTraits
import Testing
import WebImageTesting

/// Compares the committed lists of the API with the built modules.
@Suite("The API", .blocking, .serialized)
struct PublicAPITests {
    private static let top = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    private static let build = Program.gallery.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }

    /// The lists of a module: what apps use, and what only the targets of this package do.
    private static let lists = [
        (folder: "PublicAPI", levels: ["public", "open"]),
        (folder: "PackageAPI", levels: ["package"]),
    ]

    @Test(
        "The API equals the committed lists, which GWI_UPDATE_API=1 writes anew after an intended change",
        arguments: [
            "WebImageCore", "WebImageSandbox", "WebImageFormats", "WebImageLinux", "GtkWebImage",
            "GtkWebImageWidgets", "GtkWebImageBuilder", "GtkWebImageZoom", "GtkWebImageInspector", "WebImageServices",
            "WebImageDesktop",
            "WebImagePDF", "WebImageTesting",
        ]
    )
    func list(module: String) throws {
        let folder = TemporaryDirectory()
        let result = try ChildProcess.run(
            "swift",
            [
                "symbolgraph-extract", "-module-name", module, "-minimum-access-level", "package", "-output-dir",
                folder.path,
            ]
                + ["-target", Self.target, "-I", "\(Self.build)/Modules"] + Self.moduleMaps + Self.headers
        )
        #expect(result.exitCode == 0, "\(result.output)")
        let graphs = try Self.graphs(of: module, in: URL(filePath: folder.path))
        let symbols = graphs.flatMap(\.symbols).filter { !$0.identifier.precise.contains("::SYNTHESIZED::") }
        #expect(symbols.count >= 2)
        let conformances = Self.conformances(of: symbols, graphs)
        let owners = try Self.promises(symbols, conformances)
        for list in Self.lists {
            let listed = symbols.filter { list.levels.contains($0.accessLevel) && !$0.isPromised(by: owners) }
            let lines = Set(listed.map { $0.line(conformances) }).sorted()
            let file = URL(filePath: "\(Self.top)/Tests/\(list.folder)/\(module).txt")
            if ProcessInfo.processInfo.environment["GWI_UPDATE_API"] != nil {
                try lines.map { $0 + "\n" }.joined().write(to: file, atomically: true, encoding: .utf8)
            }
            let known = Set(try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init))
            let added = lines.filter { !known.contains($0) }
            let removed = known.subtracting(lines).sorted()
            #expect(added.isEmpty, "New in \(list.folder): \(added.joined(separator: "\n"))")
            #expect(removed.isEmpty, "Gone from \(list.folder): \(removed.joined(separator: "\n"))")
        }
    }

    private static func graphs(of module: String, in folder: URL) throws -> [SymbolGraph] {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.lastPathComponent.hasPrefix(module) }
            .map { try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: $0)) }
    }

    /// The protocols that each type conforms to, by its identifier: those that it names, and those that the compiler derives.
    private static func conformances(of symbols: [SymbolGraph.Symbol], _ graphs: [SymbolGraph]) -> [String: [String]] {
        // Every type has these unless it says otherwise.
        let implied: Set = ["Copyable", "Escapable", "SendableMetatype", "BitwiseCopyable"]
        let own = Dictionary(symbols.map { ($0.identifier.precise, $0) }) { first, _ in first }
        var found: [String: Set<String>] = [:]
        for relation in graphs.flatMap(\.relationships) where relation.kind == "conformsTo" {
            if let known = own[relation.target], !["public", "open"].contains(known.accessLevel) { continue }
            let name = own[relation.target]?.pathComponents.last ?? relation.targetFallback ?? relation.target
            let last = name.split(separator: ".").last.map(String.init) ?? name
            if !implied.contains(last) { found[relation.source, default: []].insert(last) }
        }
        return found.mapValues { $0.sorted() }
    }

    /// The names that the listed conformances of a type promise, by the name of the type, so that the lists need not repeat them. What a
    /// protocol implements for its conformers is listed.
    private static func promises(
        _ symbols: [SymbolGraph.Symbol],
        _ conformances: [String: [String]]
    ) throws -> [String: Set<String>] {
        var members = [
            "CustomStringConvertible": ["description"], "Equatable": ["==(_:_:)"], "Hashable": ["hash(into:)"],
            "Decodable": ["init(from:)"], "Encodable": ["encode(to:)"],
            "LocalizedError": ["errorDescription", "recoverySuggestion"],
            "ExpressibleByStringLiteral": ["init(stringLiteral:)"],
        ]
        func add(_ names: [String]) {
            if names.count == 2 { members[names[0], default: []].append(names[1]) }
        }
        for symbol in symbols { add(symbol.pathComponents) }
        // The protocols of other modules.
        for file in try FileManager.default.contentsOfDirectory(atPath: "\(top)/Tests/PublicAPI") {
            let text = try String(contentsOf: URL(filePath: "\(top)/Tests/PublicAPI/\(file)"), encoding: .utf8)
            for line in text.split(separator: "\n") {
                add(line.prefix { $0 != " " }.dropLast().split(separator: ".").map(String.init))
            }
        }
        return symbols.filter { !$0.isProtocol }.reduce(into: [:]) { result, type in
            let names = (conformances[type.identifier.precise] ?? []).flatMap { members[$0] ?? [] }
            result[type.pathComponents.joined(separator: "."), default: []].formUnion(names)
        }
    }

    private struct SymbolGraph: Decodable {
        struct Symbol: Decodable {
            struct Identifier: Decodable { let precise: String }
            struct Fragment: Decodable { let spelling: String }

            let identifier: Identifier
            let pathComponents: [String]
            let declarationFragments: [Fragment]?
            let accessLevel: String

            var isProtocol: Bool { declarationFragments?.contains { $0.spelling == "protocol" } == true }

            func isPromised(by owners: [String: Set<String>]) -> Bool {
                let owner = pathComponents.dropLast().joined(separator: ".")
                return pathComponents.last.map { owners[owner]?.contains($0) == true } ?? false
            }

            /// The declaration after the names of the types that contain it, and the protocols that it conforms to.
            func line(_ conformances: [String: [String]]) -> String {
                let declaration = (declarationFragments ?? []).map(\.spelling).joined()
                    .split(whereSeparator: \.isWhitespace).joined(separator: " ")
                let protocols = conformances[identifier.precise].map { " (\($0.joined(separator: ", ")))" } ?? ""
                return "\(pathComponents.joined(separator: ".")): \(declaration)\(protocols)"
            }
        }

        struct Relationship: Decodable {
            let kind, source, target: String
            let targetFallback: String?
        }

        let symbols: [Symbol]
        let relationships: [Relationship]
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
