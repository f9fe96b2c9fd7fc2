import Foundation
import Testing

/// Compares the code within the sentences of the pages with the lists of the public API. docc checks the names between double
/// backquotes; these are the names between single ones.
@Suite("The code within the sentences of the pages")
struct InlineCodeTests {
    /// The types that a variable of this name has in a page.
    private static let variables = [
        "cache": ["ImageCache"], "configuration": ["ImageManager.Configuration"],
        "downloader": ["ImageDownloader.Configuration", "ImageDownloader"], "error": ["ImageError"],
        "image": ["WebImage"], "imageBinding": ["ImageBinding", "ImageBindable"], "manager": ["ImageManager"],
        "picture": ["ImageBindable", "WidgetBindable", "PictureBindable", "GtkWidgetConvertible"],
        "player": ["AnimationPlayer"],
        "request": [
            "ImageRequest", "NetworkOptions", "LoaderRequest", "RequestModifier.Request",
            "ImageDownloader.CredentialRequest",
        ],
        "response": ["LoadResponse"],
    ]

    private static let pages = ["README.md", "CHANGELOG.md", ".github/CONTRIBUTING.md"] + catalogs()

    @Test("It names only what is public", arguments: pages)
    func names(page: String) throws {
        let text = try String(contentsOf: APILists.root.appending(path: page), encoding: .utf8)
        let unknown = Self.unknownNames(in: text, try APILists())
        #expect(unknown.isEmpty, "\(page) names what is no public API: \(unknown)")
    }

    @Test("A name that does not exist is found out, and code of others is not")
    func faults() throws {
        let api = try APILists()
        let page = """
            Set `configuration.proxy`, then call `setImage(using:)` or `ImageCache.empty()`, as `ImageManager.Setup.proxy` says.

            ```swift
            configuration.anything = `none`
            ```

            | `ImageRequest.Options` | `ImageRequest.priority` |
            """
        let wrong = ["configuration.proxy", "setImage(using:)", "ImageCache.empty()", "ImageManager.Setup.proxy"]
        #expect(Self.unknownNames(in: page, api) == wrong)
        let right = "`downloader.proxy`, `setImage(with:)`, `ImageTask.priority`, `gtk_init()`, `String.count`, `a.b`"
        #expect(Self.unknownNames(in: right, api) == [])
    }

    /// The names in backquotes that the lists lack. The tables of names have other libraries' in their first column, and
    /// MigrationTests checks the second one.
    private static func unknownNames(in page: String, _ api: APILists) -> [String] {
        var (isCode, unknown) = (false, [String]())
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") { isCode.toggle() }
            if isCode || line.hasPrefix("| `") { continue }
            let quoted = line.matches(of: /(`+)([^`]+)`+/).filter { $0.1.count == 1 }.map { String($0.2) }
            unknown += quoted.filter { isUnknown($0, api) }
        }
        return unknown
    }

    private static func isUnknown(_ code: String, _ api: APILists) -> Bool {
        if let member = code.wholeMatch(of: /([a-z]\w*)\.(\w+)(.*)/), let types = variables[String(member.1)] {
            return !types.contains { api.contains("\($0).\(member.2)") }
        }
        if code.wholeMatch(of: /[a-z][A-Za-z]*\((\w+:)+\)/) != nil { return !api.hasMember(code) }
        // A call with arguments names its function without labels.
        let name = code.firstMatch(of: /\([^)]*: \S.*/).map { String(code[..<$0.range.lowerBound]) } ?? code
        guard let path = name.wholeMatch(of: /([A-Z]\w+)(\.\w+)+(\(.*\))?/), api.hasType(String(path.1)) else {
            return false
        }
        return !api.contains(name)
    }

    private static func catalogs() -> [String] {
        let folder = APILists.root.appending(path: "Sources")
        let names = FileManager.default.enumerator(atPath: folder.path())?.allObjects ?? []
        return names.compactMap { $0 as? String }.filter { $0.contains(".docc/") && $0.hasSuffix(".md") }.sorted()
            .map { "Sources/\($0)" }
    }
}
