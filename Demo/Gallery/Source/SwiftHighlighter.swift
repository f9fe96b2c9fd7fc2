/// Finds the words of Swift source that an editor colours.
struct SwiftHighlighter {
    enum Kind: CaseIterable {
        case keyword, type, string, number, comment
    }

    /// A part of the source, in Unicode scalars from its start, as GtkTextBuffer counts.
    struct Part: Equatable {
        let range: Range<Int>
        let kind: Kind
    }

    private static let keywords: Set<String> = [
        "as", "async", "await", "break", "case", "catch", "class", "continue", "default", "defer", "do", "else", "enum",
        "extension", "false", "fileprivate", "final", "for", "func", "guard", "if", "import", "in", "init", "internal",
        "is",
        "let", "nil", "nonisolated", "private", "protocol", "public", "return", "self", "Self", "some", "static",
        "struct",
        "switch", "throw", "throws", "true", "try", "typealias", "unowned", "var", "weak", "where", "while", "any",
    ]

    private let source: [Unicode.Scalar]
    private var position = 0
    private var parts: [Part] = []

    static func parts(of source: String) -> [Part] {
        var highlighter = SwiftHighlighter(source: Array(source.unicodeScalars))
        highlighter.run()
        return highlighter.parts
    }

    private init(source: [Unicode.Scalar]) {
        self.source = source
    }

    private mutating func run() {
        while position < source.count {
            let start = position
            if starts(with: "//") {
                while position < source.count, source[position] != "\n" { position += 1 }
                add(.comment, from: start)
            } else if starts(with: "\"\"\"") {
                skipString(closing: "\"\"\"")
                add(.string, from: start)
            } else if source[position] == "\"" {
                skipString(closing: "\"")
                add(.string, from: start)
            } else if isDigit(source[position]) {
                while position < source.count, isLetter(source[position]) || isDigit(source[position]) { position += 1 }
                add(.number, from: start)
            } else if isLetter(source[position]) || source[position] == "@" || source[position] == "#" {
                skipWord(from: start)
            } else {
                position += 1
            }
        }
    }

    private mutating func skipWord(from start: Int) {
        position += 1
        while position < source.count, isLetter(source[position]) || isDigit(source[position]) { position += 1 }
        let word = String(String.UnicodeScalarView(source[start..<position]))
        // After a dot the word is the name of a member, such as .default.
        let isMember = start > 0 && source[start - 1] == "."
        if "@#".unicodeScalars.contains(source[start]) || Self.keywords.contains(word) && !isMember {
            add(.keyword, from: start)
        } else if source[start].properties.isUppercase {
            add(.type, from: start)
        }
    }

    /// Skips a string with the interpolations in it.
    private mutating func skipString(closing: String) {
        position += closing.unicodeScalars.count
        var depth = 0
        while position < source.count {
            if depth == 0, starts(with: closing) {
                position += closing.unicodeScalars.count
                return
            }
            if starts(with: "\\(") {
                depth += 1
                position += 2
            } else if depth == 0, source[position] == "\\" {
                position += 2
            } else {
                if depth > 0, source[position] == "(" { depth += 1 }
                if depth > 0, source[position] == ")" { depth -= 1 }
                position += 1
            }
        }
        position = source.count
    }

    private func starts(with text: String) -> Bool { source[position...].starts(with: text.unicodeScalars) }

    private func isLetter(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.isAlphabetic || scalar == "_" }

    private func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

    private mutating func add(_ kind: Kind, from start: Int) {
        parts.append(Part(range: start..<position, kind: kind))
    }
}
