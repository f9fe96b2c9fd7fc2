import Foundation

/// The Swift source of a page, as it was compiled.
struct PageSource {
    /// The lines of the page's files, without the sample that they quote.
    let text: String
    /// The numbers of the lines, from 0, that the page's sample consists of.
    let sampleLines: [Int]

    /// Reads the files of a page. Without the files, the source is the sample.
    @MainActor
    init(of page: Page) {
        let folder = URL(filePath: ProgramFolder.own("pages", source: "Demo/Gallery/Pages"))
        let files = page.files.compactMap { try? String(contentsOf: folder.appending(path: $0), encoding: .utf8) }
        text = files.isEmpty ? page.code + "\n" : files.map(Self.withoutSample).joined(separator: "\n")
        let sample = Set(Self.lines(of: page.code).filter { !$0.isEmpty })
        sampleLines = Self.lines(of: text).indices(where: sample)
    }

    private static func lines(of text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// Leaves out the argument `code`, whose lines would be there twice.
    private static func withoutSample(_ file: String) -> String {
        guard let start = file.range(of: "\n        code: \"\"\"\n"),
            let end = file.range(of: "\n            \"\"\"", range: start.upperBound..<file.endIndex)
        else { return file }
        var rest = file[end.upperBound...]
        // Either the argument is the last one, or others follow on the next line.
        if rest.hasPrefix(",") { rest = rest.dropFirst() }
        return String(file[..<start.lowerBound] + rest)
    }
}

extension [String] {
    fileprivate func indices(where lines: Set<String>) -> [Int] {
        indices.filter { lines.contains(self[$0]) }
    }
}
