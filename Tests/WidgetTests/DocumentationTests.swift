import Foundation
import Testing

/// Checks the pages of the documentation, the docstrings and the code in both. A sample counts as compiled when a source of
/// the tests or of the examples has its lines in the same order and close together, apart from comments and spaces.
@Suite("The documentation")
struct DocumentationTests {
    /// Lines that no program here can have, each with the reason.
    private static let exempt = [
        #".package(name: "GtkWebImage", path: "../GtkWebImage")"#: "is for the manifest of another package",
        #"dependencies: [.package(name: "GtkWebImage", path: "../GtkWebImage")],"#:
            "is for the manifest of another package",
        #".package(url: "https://example.org/GtkWebImage", .upToNextMinor(from: "0.1.0"))"#:
            "is for the manifest of another package",
    ]

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let catalog = "Sources/GtkWebImage/GtkWebImage.docc"
    private static let rootPage = "\(catalog)/GtkWebImage.md"
    private static let examples = ["Tests/WidgetScenarios/Examples", "Tests/WidgetTests/Examples"]

    /// The sources whose docstrings have samples: blocks that are indented by four spaces below an empty line. A block that
    /// is no code stands between lines of three backquotes.
    private static let documentedSources = sources().filter { !samples(ofDocstringsIn: $0).isEmpty }

    private static let landingPages = files("md", in: "Sources").filter { $0.contains(".docc/") && isLandingPage($0) }
    /// The other pages. A folder Extensions has those of types that another module declares.
    private static let articles = files("md", in: catalog).filter { $0 != rootPage && !$0.contains("/Extensions/") }
    private static let pages = ["README.md"] + landingPages + articles
    /// The lines of code of each source that is compiled, with whether a line ends a function or a type at the top of the file.
    private static let compiled = [
        "Tests/WidgetScenarios", "Tests/WidgetTests/Examples", "Demo/Examples/FirstApp", "Demo/Examples/TestedApp",
        "Tests/Interop",
    ]
    .flatMap { files("swift", in: $0) }
    .map { lines(of: $0).map { (code: code($0), isEnd: $0 == "}") }.filter { !$0.code.isEmpty } }
    private static let compiledLines = Set(compiled.joined().map(\.code))

    /// Whether a source has these lines in this order, as a reader pastes them: within one function, or as whole declarations. Few
    /// lines may be between two of them, to declare what they use; imports are at the top.
    private static func isCompiled(_ sample: [String]) -> Bool {
        compiled.contains { source in
            source.indices.contains { start in
                var next = start
                for (number, line) in sample.enumerated() {
                    let isAfterImport = number > 0 && sample[number - 1].hasPrefix("import ")
                    let near = source[next...].prefix(number == 0 ? 1 : isAfterImport ? 1000 : 6)
                    guard let found = near.firstIndex(where: { $0.code == line }) else { return false }
                    if !isAfterImport, source[next..<found].contains(where: \.isEnd) { return false }
                    next = found + 1
                }
                return true
            }
        }
    }

    @Test("Each sample is compiled", arguments: pages)
    func compiledSamples(page: String) throws {
        for sample in try Self.samples(of: page) {
            let lines = sample.filter { Self.exempt[$0] == nil }
            // The expectation would print all sources if it contained the search.
            let isCompiled = Self.isCompiled(lines)
            let part = lines.first { !Self.compiledLines.contains($0) } ?? lines.joined(separator: "\n")
            #expect(isCompiled, "\(page) has a sample that is compiled nowhere: \(part)")
        }
    }

    @Test("Each sample in a docstring is compiled", arguments: documentedSources)
    func compiledDocstrings(source: String) {
        for sample in Self.samples(ofDocstringsIn: source) {
            let isCompiled = Self.isCompiled(sample)
            #expect(isCompiled, "\(source) has a sample that is compiled nowhere: \(sample.joined(separator: "\n"))")
        }
    }

    @Test("Samples in docstrings are found")
    func foundDocstrings() {
        #expect(Self.documentedSources.count >= 8, "\(Self.documentedSources)")
    }

    @Test("Each exempt line is used and is compiled nowhere")
    func exemptions() throws {
        let used = Set(try Self.pages.flatMap { try Self.samples(of: $0).joined() })
        for (line, reason) in Self.exempt {
            let (isUsed, isCompiled) = (used.contains(line), Self.compiledLines.contains(line))
            #expect(isUsed, "No page has the line that \(reason): \(line)")
            #expect(!isCompiled, "It need not be exempt: \(line)")
        }
    }

    @Test("Each file of samples belongs to a page and has code of it")
    func usedExamples() throws {
        for file in Self.examples.flatMap({ Self.files("swift", in: $0) }) where !file.hasSuffix("/Docstrings.swift") {
            let page = try #require(Self.page(ofExamples: file), "\(file) is of no page")
            // A brace or an import occurs in every file.
            let samples = try Set(Self.samples(of: page).joined().filter { $0.count > 20 && !$0.hasPrefix("import ") })
            let isUsed = Self.lines(of: file).map(Self.code).contains { samples.contains($0) }
            #expect(isUsed, "\(file) has nothing of \(page)")
        }
    }

    @Test("Each linked page exists, and the root page links to each")
    func pageNames() throws {
        let names = Set(Self.articles.map(Self.name))
        for page in Self.pages {
            let text = try String(contentsOf: Self.root.appending(path: page), encoding: .utf8)
            let named = Set(text.matches(of: /<doc:([^>]+)>/).map { String($0.1) })
            let (missing, unnamed) = (named.subtracting(names), names.subtracting(named))
            #expect(missing.isEmpty, "\(page) names pages that are not there")
            if page == Self.rootPage { #expect(unnamed.isEmpty, "\(page) does not name all pages") }
        }
    }

    /// The lines of code of each sample in a page, without comments and empty lines.
    private static func samples(of page: String) throws -> [[String]] {
        var isSample = false
        var samples: [[String]] = []
        for line in lines(of: page) {
            if line.hasPrefix("```") {
                isSample = line == "```swift"
                if isSample { samples.append([]) }
            } else if isSample, !code(line).isEmpty {
                samples[samples.count - 1].append(code(line))
            }
        }
        try #require(!isSample, "A block of \(page) has no end")
        return samples
    }

    /// The lines of code of each sample in the docstrings of a source.
    private static func samples(ofDocstringsIn source: String) -> [[String]] {
        var (isSample, isText, isAfterEmptyLine) = (false, false, true)
        var samples: [[String]] = []
        for line in lines(of: source).map({ $0.trimmingCharacters(in: .whitespaces) }) {
            guard line.hasPrefix("///") else {
                (isSample, isText, isAfterEmptyLine) = (false, false, true)
                continue
            }
            let text = line.dropFirst(3)
            if text.contains("```") { isText.toggle() }
            if text.isEmpty {
                isAfterEmptyLine = true
            } else {
                let wasSample = isSample
                isSample = !isText && text.hasPrefix("     ") && (isSample || isAfterEmptyLine)
                if isSample, !wasSample { samples.append([]) }
                isAfterEmptyLine = false
                if isSample, !code(String(text)).isEmpty { samples[samples.count - 1].append(code(String(text))) }
            }
        }
        return samples
    }

    /// The sources of the library in Swift.
    private static func sources() -> [String] {
        files("swift", in: "Sources")
    }

    /// Strips the comment at the end of a line and the spaces around it.
    private static func code(_ line: String) -> String {
        let line = line.trimmingCharacters(in: .whitespaces)
        if line.hasPrefix("//") { return "" }
        guard let comment = line.range(of: " //") else { return line }
        return line[..<comment.lowerBound].trimmingCharacters(in: .whitespaces)
    }

    /// The page of a file of samples, for example Binding.md for BindingExamples.swift.
    private static func page(ofExamples file: String) -> String? {
        let start = name(file).components(separatedBy: "Example")[0].lowercased()
        return pages.first { name($0).lowercased() == start }
    }

    /// Whether a page is the landing page of its module: WebImageCore.docc/WebImageCore.md.
    private static func isLandingPage(_ path: String) -> Bool {
        path.hasSuffix("/\(name(path)).docc/\(name(path)).md")
    }

    private static func name(_ path: String) -> String {
        URL(filePath: path).deletingPathExtension().lastPathComponent
    }

    private static func lines(of path: String) -> [String] {
        let text = try? String(contentsOf: root.appending(path: path), encoding: .utf8)
        return (text ?? "").split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// The files below a folder, by their paths from the top of the repository.
    private static func files(_ type: String, in folder: String) -> [String] {
        let names = FileManager.default.enumerator(atPath: root.appending(path: folder).path())?.allObjects ?? []
        return names.compactMap { $0 as? String }.filter { $0.hasSuffix(".\(type)") }.sorted().map { "\(folder)/\($0)" }
    }
}
