import Foundation
import Testing

/// Compares the tables of names in the pages on migration with lists of those names and with the public API. A table has the
/// names of the other library in single backquotes on the left, and on the right what they are called here.
@Suite("The pages on migration")
struct MigrationTests {
    /// A page of names and the list of the names that it has to have, section by section.
    struct Page: CustomTestStringConvertible {
        let name: String
        let list: String
        /// The list has at least so many names, or else it was not read.
        let minimumCount: Int
        var testDescription: String { name }
    }

    private static let pages = [
        Page(name: "SDWebImageNames", list: "SDWebImage", minimumCount: 927),
        Page(name: "MigratingFromNuke", list: "Nuke", minimumCount: 250),
        Page(name: "MigratingFromKingfisher", list: "Kingfisher", minimumCount: 200),
    ]

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test("Each name of the other library is in one row of its section", arguments: pages)
    func names(page: Page) throws {
        let names = try Self.list(page)
        #expect(names.values.map(\.count).reduce(0, +) >= page.minimumCount)
        let problems = Self.problems(of: try Self.text(page), names: names)
        #expect(problems.isEmpty, "\(page.name).md: \(problems.joined(separator: "\n"))")
    }

    @Test("Each name of this library in a row is public API", arguments: pages)
    func api(page: Page) throws {
        let api = try APILists()
        for row in Self.rows(of: try Self.text(page)) {
            for name in Self.quoted(in: row.here) {
                // The expectation would print the whole API if it contained the search.
                let isKnown = api.contains(name)
                #expect(isKnown, "\(page.name).md, \(row.section): no public API is called \(name)")
            }
        }
    }

    @Test("Each row without a counterpart says why", arguments: pages)
    func reasons(page: Page) throws {
        for row in Self.rows(of: try Self.text(page)) {
            #expect(!row.here.isEmpty, "\(page.name).md: \(row.names) has an empty row")
            if row.here.hasPrefix("None") {
                #expect(row.here.wholeMatch(of: /None: .{10,}/) != nil, "\(page.name).md: \(row.names): no reason")
            }
        }
    }

    @Test("A page that leaves out a name, makes one up or has one twice is found out")
    func faults() {
        let page = """
            ## A.h

            | Theirs | here |
            |---|---|
            | `first`, `third` | `ImageCache` |
            | `first` | None: it is gone |
            """
        let problems = Self.problems(of: page, names: ["A.h": ["first", "second"]])
        #expect(problems == ["A.h has no second", "A.h makes up third", "A.h has first in 2 rows"])
        #expect(Self.problems(of: page, names: ["B.h": ["first"]]).contains("B.h has no first"))
    }

    @Test("A name counts as API only with its type and with labels that exist")
    func lookUp() throws {
        let api = try APILists()
        for name in [
            "ImageCache", "ImageCache.remove(_:from:)", "ImageRequest.priority", "ImageTransformer.+",
            "ImageBindable.setImage(with:placeholder:completion:)",
        ] {
            #expect(api.contains(name), "\(name)")
        }
        for name in [
            "imageCache", "ImageCache.delete(_:)", "ImageCache.remove(_:at:)", "remove(_:from:)",
            "ImageRequest.urgency",
            "ImageBindable.setImage(placeholder:with:)",
        ] {
            #expect(!api.contains(name), "\(name)")
        }
    }

    private struct Row {
        let section: String
        let names: [String]
        let here: String
    }

    private static func problems(of page: String, names: [String: [String]]) -> [String] {
        var problems: [String] = []
        let sections = Dictionary(grouping: rows(of: page), by: \.section)
        for section in Set(names.keys).union(sections.keys).sorted() {
            let listed = names[section] ?? []
            let shown = (sections[section] ?? []).flatMap(\.names)
            problems += listed.filter { !shown.contains($0) }.map { "\(section) has no \($0)" }
            problems += shown.filter { !listed.contains($0) }.map { "\(section) makes up \($0)" }
            let counts = Dictionary(shown.map { ($0, 1) }, uniquingKeysWith: +)
            problems += counts.filter { $0.value > 1 }.sorted { $0.key < $1.key }
                .map { "\(section) has \($0.key) in \($0.value) rows" }
        }
        return problems
    }

    /// The rows of the tables of names: those of sections whose table has a column "here".
    private static func rows(of page: String) -> [Row] {
        var rows: [Row] = []
        var (section, isTable) = ("", false)
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("## ") { section = String(line.dropFirst(3)) }
            guard line.hasPrefix("| "), line.hasSuffix(" |") else {
                isTable = isTable && line.hasPrefix("|---")
                continue
            }
            let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
            if cells.count == 2, cells[1] == "here" {
                isTable = true
            } else if isTable, cells.count == 2 {
                rows.append(Row(section: section, names: quoted(in: cells[0]), here: cells[1]))
            }
        }
        return rows
    }

    /// What stands between single backquotes.
    private static func quoted(in text: String) -> [String] {
        text.matches(of: /(`+)([^`]+)`+/).filter { $0.1.count == 1 }.map { String($0.2) }
    }

    private static func text(_ page: Page) throws -> String {
        let path = "Sources/GtkWebImage/GtkWebImage.docc/\(page.name).md"
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The names of a list by section.
    private static func list(_ page: Page) throws -> [String: [String]] {
        let file = root.appending(path: "Tests/ForeignNames/\(page.list).txt")
        var (section, names) = ("", [String: [String]]())
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init) {
            if line.hasPrefix("## ") {
                section = String(line.dropFirst(3))
            } else if !line.hasPrefix("#") {
                names[section, default: []].append(line)
            }
        }
        return names
    }
}
