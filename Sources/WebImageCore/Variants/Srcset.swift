public import FoundationEssentials

extension ImageVariants {
    /// Creates the variants of an image from the attributes `src` and `srcset` of HTML.
    ///
    /// The list is parsed as in browsers: invalid entries are skipped, and `src` remains if no entry is valid.
    ///
    ///     let variants = ImageVariants(src: small, srcset: "small.jpg 400w, medium.jpg 800w, large.jpg 1600w")
    ///
    /// - Parameters:
    ///   - src: The URL of the image, and the base of relative URLs. In a list of densities it is the file for density 1 if the
    ///     list has none.
    ///   - srcset: The list, with widths (`800w`) or densities (`2x`). If it has both, only the widths count. Files beyond the 64th
    ///     are ignored.
    public init(src: URL, srcset: String) {
        var files: [File] = []
        var parser = SrcsetParser(srcset)
        while files.count < Self.maximumCount, let entry = parser.next() {
            guard let url = URL(string: entry.url, relativeTo: src)?.absoluteURL else { continue }
            files.append(File(url: url, descriptor: entry.descriptor))
        }
        files.append(File(url: src, descriptor: .density(1)))
        self.init(url: src, files: files)
    }
}

/// The parser of `srcset` ("Parsing a srcset attribute" in the HTML standard), in time proportional to its input.
struct SrcsetParser {
    typealias Entry = (url: String, descriptor: ImageVariants.Descriptor)

    private var rest: Substring.UTF8View

    init(_ text: String) {
        rest = text[...].utf8
    }

    /// The next valid entry; `nil` at the end.
    mutating func next() -> Entry? {
        while true {
            rest = rest.drop { $0.isSpace || $0 == UInt8(ascii: ",") }
            guard !rest.isEmpty else { return nil }
            let word = rest.prefix { !$0.isSpace }
            rest = rest[word.endIndex...]
            var url = word
            while url.last == UInt8(ascii: ",") { url.removeLast() }
            // A comma at the end of the URL ends the entry. A comma within belongs to the URL, as in data URLs.
            let descriptors = url.endIndex < word.endIndex ? [] : takeDescriptors()
            if let descriptor = Self.descriptor(descriptors) { return (String(Substring(url)), descriptor) }
        }
    }

    /// Reads the words up to the comma that ends the entry. Commas in parentheses are skipped, as the standard reserves them.
    private mutating func takeDescriptors() -> [Substring.UTF8View] {
        var words: [Substring.UTF8View] = []
        var index = rest.startIndex
        var start = index
        var depth = 0
        func endWord() {
            if start < index { words.append(rest[start..<index]) }
        }
        scan: while index < rest.endIndex {
            let byte = rest[index]
            switch byte {
            case UInt8(ascii: "("): depth = 1
            case UInt8(ascii: ")"): depth = 0
            case UInt8(ascii: ",") where depth == 0: break scan
            case _ where byte.isSpace && depth == 0:
                endWord()
                start = rest.index(after: index)
            default: break
            }
            index = rest.index(after: index)
        }
        endWord()
        rest = rest[index...]
        return words
    }

    /// The size in the words of an entry; `nil` if the words are invalid.
    private static func descriptor(_ words: [Substring.UTF8View]) -> ImageVariants.Descriptor? {
        var (width, density, hasHeight) = (Int?.none, Double?.none, false)
        for word in words {
            guard let unit = word.last else { return nil }
            let number = Substring(word.dropLast())
            switch unit {
            case UInt8(ascii: "w"):
                guard width == nil, density == nil, let value = whole(number), value > 0 else { return nil }
                width = value
            case UInt8(ascii: "x"):
                guard width == nil, density == nil, !hasHeight, let value = decimal(number), value >= 0 else {
                    return nil
                }
                density = value
            case UInt8(ascii: "h"):
                guard !hasHeight, density == nil, let value = whole(number), value > 0 else { return nil }
                hasHeight = true
            default: return nil
            }
        }
        if let width { return .width(width) }
        return hasHeight ? nil : .density(density ?? 1)
    }

    private static func whole(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { $0.isDigit } ? Int(text) : nil
    }

    private static func decimal(_ text: Substring) -> Double? {
        guard text.utf8.first != UInt8(ascii: "+"), text.utf8.last != UInt8(ascii: "."),
            text.utf8.allSatisfy({ $0.isDigit || "+-.eE".utf8.contains($0) }), let value = Double(text), value.isFinite
        else { return nil }
        return value
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    /// Whether the byte is ASCII whitespace of HTML.
    fileprivate var isSpace: Bool { [9, 10, 12, 13, 32].contains(self) }
}
