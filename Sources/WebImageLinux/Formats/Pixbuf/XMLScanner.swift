import FoundationEssentials
import WebImageCore

/// Reads the tags and texts of an XML document in order, in time that grows with its length only.
///
/// The scanner finds what libxml2 finds, or refuses the document: it takes nothing that has two readings. Encodings are those
/// whose ASCII characters are ASCII, entities those whose values are plain URLs, such as Adobe Illustrator declares for its
/// namespaces (XML 1.0, fifth edition).
struct XMLScanner {
    enum Event {
        /// A start tag, or an empty element, whose end follows.
        case start(name: Substring, attributes: [Attribute])
        case end(name: Substring)
        /// Characters, with their references replaced.
        case text([UInt8])
        /// The contents of a processing instruction.
        case instruction([UInt8])
    }

    struct Attribute {
        /// The name without its prefix.
        let name: Substring
        /// The value, with its references replaced.
        let value: [UInt8]
    }

    /// What stands for the value of a declared entity: a byte that is not part of any URL.
    static let entityMark: UInt8 = 0xFF

    private let bytes: ByteReader
    private let options: DecodeOptions
    private var offset = 0
    private var entities: Set<String> = []
    /// The end of an element that has no end tag.
    private var pendingEnd: Substring?

    /// - Throws: ``ImageError/Code/badImageData`` for an encoding that the scanner does not read.
    init(_ bytes: ByteReader, _ options: DecodeOptions) throws(ImageError) {
        (self.bytes, self.options) = (bytes, options)
        if bytes.matches([0xEF, 0xBB, 0xBF], at: 0) { offset = 3 }
        // A null is half of a character of 16 bits; others are byte order marks, and the magic number of gzip.
        guard ![0x1F, 0xFE, 0xFF, 0x4C, 0].contains(bytes.uint8(offset)), bytes.uint8(offset + 1) != 0 else {
            throw refusal("is compressed, or in an encoding other than UTF-8")
        }
        if bytes.matches("<?xml", at: offset), isSpace(bytes.uint8(offset + 5)) { try readDeclaration() }
    }

    private func refusal(_ problem: String) -> ImageError {
        ImageError(
            .badImageData,
            url: options.url,
            reason: "The SVG \(problem), so that it cannot be searched for images",
            remedy: "Save it as plain SVG in UTF-8, uncompressed and without entities."
        )
    }

    private mutating func readDeclaration() throws(ImageError) {
        guard let end = index(of: "?>", from: offset) else { throw refusal("ends within its declaration") }
        let text = string(offset + 5, end).lowercased()
        offset = end + 2
        guard let start = text.firstRange(of: "encoding") else { return }
        let value = text[start.upperBound...].drop { $0.isWhitespace || $0 == "=" }
        let name = value.dropFirst().prefix { $0 != value.first }
        let isKnown =
            ["utf-8", "us-ascii", "ascii"].contains(name)
            || ["iso-8859-", "windows-125"].contains { name.hasPrefix($0) && Int(name.dropFirst($0.count)) != nil }
        guard isKnown, value.first == "\"" || value.first == "'" else {
            throw refusal("is in the encoding \(name.prefix(40))")
        }
    }

    // MARK: - Events

    /// The next event; `nil` at the end of the document.
    mutating func next() throws(ImageError) -> Event? {
        if let name = pendingEnd.take() { return .end(name: name) }
        while let byte = bytes.uint8(offset) {
            guard byte == UInt8(ascii: "<") else {
                let end = bytes.firstIndex(of: UInt8(ascii: "<"), from: offset) ?? bytes.count
                defer { offset = end }
                return .text(try replacingReferences(offset, end))
            }
            if bytes.matches("<!--", at: offset) {
                try skipComment()
            } else if bytes.matches("<![CDATA[", at: offset) {
                guard let end = index(of: "]]>", from: offset + 9) else { throw refusal("ends within its text") }
                defer { offset = end + 3 }
                return .text(Array(bytes.bytes[(offset + 9)..<end]))
            } else if bytes.matches("<?", at: offset) {
                guard let end = index(of: "?>", from: offset + 2) else { throw refusal("ends within an instruction") }
                defer { offset = end + 2 }
                return .instruction(try replacingReferences(offset + 2, end))
            } else if bytes.matches("<!DOCTYPE", at: offset) {
                try readDocumentType()
            } else if bytes.matches("</", at: offset) {
                return try readEndTag()
            } else {
                return try readStartTag()
            }
        }
        return nil
    }

    /// Two hyphens end a comment (production 15).
    private mutating func skipComment() throws(ImageError) {
        guard let end = index(of: "--", from: offset + 4), bytes.uint8(end + 2) == UInt8(ascii: ">") else {
            throw refusal("has a comment that does not end")
        }
        offset = end + 3
    }

    private mutating func readEndTag() throws(ImageError) -> Event {
        offset += 2
        let name = try readName()
        skipSpace()
        guard bytes.uint8(offset) == UInt8(ascii: ">") else { throw refusal("has an end tag that does not end") }
        offset += 1
        return .end(name: name)
    }

    private mutating func readStartTag() throws(ImageError) -> Event {
        offset += 1
        let name = try readName()
        var attributes: [Attribute] = []
        while true {
            let hasSpace = skipSpace()
            switch bytes.uint8(offset) {
            case UInt8(ascii: ">"):
                offset += 1
                return .start(name: name, attributes: attributes)
            case UInt8(ascii: "/") where bytes.uint8(offset + 1) == UInt8(ascii: ">"):
                offset += 2
                pendingEnd = name
                return .start(name: name, attributes: attributes)
            case nil:
                throw refusal("ends within a tag")
            default:
                guard hasSpace else { throw refusal("has a tag that is damaged") }
                attributes.append(try readAttribute())
            }
        }
    }

    private mutating func readAttribute() throws(ImageError) -> Attribute {
        let name = try readName()
        skipSpace()
        guard bytes.uint8(offset) == UInt8(ascii: "=") else { throw refusal("has an attribute without a value") }
        offset += 1
        skipSpace()
        guard let quote = bytes.uint8(offset), quote == 0x22 || quote == 0x27,
            let end = bytes.firstIndex(of: quote, from: offset + 1)
        else { throw refusal("has an attribute without a value") }
        defer { offset = end + 1 }
        return Attribute(name: name, value: try replacingReferences(offset + 1, end))
    }

    /// A name without its prefix.
    private mutating func readName() throws(ImageError) -> Substring {
        let start = offset
        var local = offset
        while let byte = bytes.uint8(offset), isPartOfName(byte) {
            offset += 1
            if byte == UInt8(ascii: ":") { local = offset }
        }
        guard offset > local, offset - start < 1024 else { throw refusal("has a tag that is damaged") }
        return string(local, offset)[...]
    }

    // MARK: - Entities

    /// Takes the declarations of entities, elements and attributes, the latter without values (production 28).
    private mutating func readDocumentType() throws(ImageError) {
        offset += 9
        while let byte = bytes.uint8(offset) {
            switch byte {
            case UInt8(ascii: ">"):
                offset += 1
                return
            case 0x22, 0x27:
                guard let end = bytes.firstIndex(of: byte, from: offset + 1) else {
                    throw refusal("ends within its document type")
                }
                offset = end + 1
            case UInt8(ascii: "["):
                offset += 1
                try readDeclarations()
            case UInt8(ascii: "<"), UInt8(ascii: "&"), UInt8(ascii: "%"):
                throw refusal("has a document type that is damaged")
            default:
                offset += 1
            }
        }
        throw refusal("ends within its document type")
    }

    private mutating func readDeclarations() throws(ImageError) {
        while true {
            skipSpace()
            if bytes.uint8(offset) == UInt8(ascii: "]") {
                offset += 1
                return
            } else if bytes.matches("<!--", at: offset) {
                try skipComment()
            } else if bytes.matches("<!ENTITY", at: offset) {
                try readEntity()
            } else if bytes.matches("<!ELEMENT", at: offset) || bytes.matches("<!ATTLIST", at: offset) {
                guard let end = bytes.firstIndex(of: UInt8(ascii: ">"), from: offset) else {
                    throw refusal("ends within its document type")
                }
                // A default value would be a value that no tag shows.
                let hasValue = bytes.bytes[offset..<end].contains { $0 == 0x22 || $0 == 0x27 || $0 == 0x25 }
                guard !hasValue else { throw refusal("declares default values of attributes") }
                offset = end + 1
            } else {
                throw refusal("has a document type that is not searched")
            }
        }
    }

    private mutating func readEntity() throws(ImageError) {
        offset += 8
        guard skipSpace() else { throw refusal("has an entity that is damaged") }
        let start = offset
        _ = try readName()
        let name = string(start, offset)
        skipSpace()
        guard let quote = bytes.uint8(offset), quote == 0x22 || quote == 0x27,
            let end = bytes.firstIndex(of: quote, from: offset + 1)
        else { throw refusal("has an entity of another file") }
        let value = bytes.bytes[(offset + 1)..<end]
        let isURL = ["http://", "https://"].contains { value.starts(with: Array($0.utf8)) }
        guard isURL, value.count <= 1024, value.allSatisfy(isPartOfPlainURL) else {
            throw refusal("has the entity \(name.prefix(40)), which is not the URL of a namespace")
        }
        offset = end + 1
        skipSpace()
        guard bytes.uint8(offset) == UInt8(ascii: ">") else { throw refusal("has an entity that is damaged") }
        offset += 1
        entities.insert(name)
    }

    private func isPartOfPlainURL(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: Array("/.:_-#?=~+".utf8).contains(byte)
        }
    }

    /// The bytes of a value or a text, in UTF-8 where they are references to characters.
    private func replacingReferences(_ start: Int, _ end: Int) throws(ImageError) -> [UInt8] {
        let source = bytes.bytes[start..<end]
        guard var sign = source.firstIndex(of: UInt8(ascii: "&")) else { return Array(source) }
        var result: [UInt8] = []
        result.reserveCapacity(source.count)
        var position = start
        while true {
            result += source[position..<sign]
            guard let semicolon = source[sign...].prefix(1024).firstIndex(of: UInt8(ascii: ";")) else {
                throw refusal("has a reference that does not end")
            }
            result += try replacement(of: string(sign + 1, semicolon))
            position = semicolon + 1
            guard let next = source[position...].firstIndex(of: UInt8(ascii: "&")) else { break }
            sign = next
        }
        return result + source[position...]
    }

    private func replacement(of name: String) throws(ImageError) -> [UInt8] {
        switch name {
        case "lt": return [UInt8(ascii: "<")]
        case "gt": return [UInt8(ascii: ">")]
        case "amp": return [UInt8(ascii: "&")]
        case "quot": return [0x22]
        case "apos": return [0x27]
        default: break
        }
        if name.hasPrefix("#") {
            let isHexadecimal = name.hasPrefix("#x")
            let digits = name.dropFirst(isHexadecimal ? 2 : 1)
            guard digits.first != "+", let number = UInt32(digits, radix: isHexadecimal ? 16 : 10),
                let character = Unicode.Scalar(number)
            else { throw refusal("refers to a character that does not exist") }
            return Array(Character(character).utf8)
        }
        guard entities.contains(name) else { throw refusal("refers to an entity that it does not declare") }
        return [Self.entityMark]
    }

    // MARK: - Bytes

    private func string(_ start: Int, _ end: Int) -> String {
        String(decoding: bytes.bytes[start..<end], as: UTF8.self)
    }

    private func index(of pattern: StaticString, from start: Int) -> Int? {
        var offset = start
        while let found = bytes.firstIndex(of: pattern.utf8Start[0], from: offset) {
            if bytes.matches(pattern, at: found) { return found }
            offset = found + 1
        }
        return nil
    }

    @discardableResult
    private mutating func skipSpace() -> Bool {
        let start = offset
        while isSpace(bytes.uint8(offset)) { offset += 1 }
        return offset > start
    }

    private func isSpace(_ byte: UInt8?) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    private func isPartOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"), UInt8(ascii: "_"), UInt8(ascii: "-"),
            UInt8(ascii: "."), 0x80...:
            true
        default: false
        }
    }
}
