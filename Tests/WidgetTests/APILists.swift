import Foundation
import Testing

/// The committed lists of the public API.
struct APILists {
    /// The labels of the declarations of a name; an empty list where there are none.
    private var labels: [String: [[String]]] = [:]
    /// The generic types that have shorter names, by those.
    private var aliases: [String: String] = [:]

    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    init() throws {
        let folder = Self.root.appending(path: "Tests/PublicAPI")
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                guard let declaration = line.range(of: ": ") else { continue }
                if let alias = line.firstMatch(of: /typealias (\w+) = (\w+)</) {
                    aliases[String(alias.1)] = String(alias.2)
                }
                let (name, labels) = Self.parts(String(line[..<declaration.lowerBound]))
                self.labels[name, default: []].append(labels ?? [])
            }
        }
        try #require(labels.count > 500)
    }

    /// Whether a type has this name.
    func hasType(_ name: String) -> Bool {
        aliases[name] != nil || labels.keys.contains { $0 == name || $0.hasPrefix("\(name).") }
    }

    /// Whether any type has a member of this name with these labels.
    func hasMember(_ name: String) -> Bool {
        let (name, wanted) = Self.parts(name)
        return labels.contains { path, known in
            path.split(separator: ".").last.map(String.init) == name && known.contains { Self.has(wanted, in: $0) }
        }
    }

    /// Whether a declaration has a name and these labels in their order; it may have others between them.
    func contains(_ name: String) -> Bool {
        var (name, wanted) = Self.parts(name)
        if let type = name.split(separator: ".").first, let generic = aliases[String(type)], name.contains(".") {
            name = generic + name.dropFirst(type.count)
        }
        guard let known = labels[name] else { return false }
        return known.contains { Self.has(wanted, in: $0) }
    }

    private static func has(_ wanted: [String]?, in labels: [String]) -> Bool {
        var rest = (wanted ?? [])[...]
        for label in labels where label == rest.first { rest.removeFirst() }
        return rest.isEmpty
    }

    private static func parts(_ name: String) -> (name: String, labels: [String]?) {
        guard let start = name.firstIndex(of: "(") else { return (name, nil) }
        let labels = name[start...].dropFirst().dropLast().split(separator: ":").map(String.init)
        return (String(name[..<start]), labels)
    }
}
