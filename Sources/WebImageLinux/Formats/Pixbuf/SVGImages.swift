import FoundationEssentials
import WebImageCore

/// Finds what an SVG embeds in data: URLs. librsvg decodes images whole, at any size, and keeps them; it loads no other URLs.
///
/// Images are values of href in image and feImage elements. Everywhere else a data: URL is a document whose parts are drawn,
/// a style sheet or a font.
struct SVGImages {
    /// An SVG within an SVG within an SVG is enough for every drawing program.
    private static let maximumDepth = 3

    private let options: DecodeOptions
    private let depth: Int
    /// Counts the images, and nested SVGs at the size at which they are drawn.
    private let images: ContainedImages

    init(_ options: DecodeOptions, _ images: ContainedImages, depth: Int = 0) {
        (self.options, self.images, self.depth) = (options, images, depth)
    }

    /// Looks for images, in time that grows with the length of the document only.
    /// - Throws: ``ImageError/Code/imageTooLarge``, and ``ImageError/Code/badImageData`` for what cannot be searched.
    func find(in bytes: ByteReader) throws(ImageError) {
        var scanner = try XMLScanner(bytes, options)
        var style: [UInt8]?
        var isRoot = true
        while let event = try scanner.next() {
            switch event {
            case .start(let name, let attributes):
                guard style == nil else { throw refusal("an element in a style sheet") }
                if exchange(&isRoot, with: false), depth > 0 { try images.add(drawingSize(attributes), in: "SVG") }
                for attribute in attributes { try check(attribute, of: name) }
                if name == "style" { style = [] }
            case .end(name: "style"):
                guard let text = style.take() else { continue }
                if depth > 0, text.setsSize { throw refusal("a drawing whose size is in a style sheet") }
                try checkStyle(text)
            case .end:
                break
            case .text(let text):
                style?.append(contentsOf: text)
            case .instruction(let text):
                try checkStyle(text)
            }
        }
    }

    private func refusal(_ content: String) -> ImageError {
        ImageError(
            .badImageData,
            url: options.url,
            reason: "The SVG holds \(content), which cannot be counted",
            remedy: "Save it as plain SVG, with images as data: URLs in base64 in image elements, or without them."
        )
    }

    private func check(_ attribute: XMLScanner.Attribute, of element: Substring) throws(ImageError) {
        // What has no colon, nor an escape that could stand for one, is no URL.
        guard attribute.value.contains(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "\\") }) else { return }
        switch (element, attribute.name) {
        case ("image", "href"), ("feImage", "href"):
            let value = attribute.value.withoutLineBreaks
            let start = value.firstIndex { $0 > 0x20 } ?? value.endIndex
            guard let comma = value.firstIndex(of: UInt8(ascii: ",")), let url = EmbeddedURL(value, at: start, comma)
            else { return }
            guard let content = url.content(upTo: value.endIndex, in: value) else {
                throw refusal("an image in a data: URL that is damaged")
            }
            try checkImage(content, isDrawing: url.type.contains("svg"))
        case ("a", "href"):
            // A link is not loaded.
            return
        default:
            try checkStyle(attribute.value)
        }
    }

    private func checkImage(_ content: Data, isDrawing: Bool) throws(ImageError) {
        guard isDrawing || ImageFormat(sniffing: content) == .svg else { return try images.add(content, in: "SVG") }
        try checkDocument(content)
    }

    private func checkDocument(_ content: Data) throws(ImageError) {
        guard depth < Self.maximumDepth else { throw refusal("drawings within drawings") }
        let nested = SVGImages(options, images, depth: depth + 1)
        try content.withByteReader { bytes throws(ImageError) in try nested.find(in: bytes) }
    }

    // MARK: - Style sheets

    /// Looks for data: URLs anywhere in a text, as they are and behind the escapes of CSS.
    private func checkStyle(_ text: [UInt8]) throws(ImageError) {
        let text = text.withoutLineBreaks
        try search(text)
        if text.contains(UInt8(ascii: "\\")) { try search(text.withoutEscapes) }
    }

    private func search(_ text: [UInt8]) throws(ImageError) {
        var (position, comma) = (text.startIndex, text.startIndex)
        while let colon = text[position...].firstIndex(of: UInt8(ascii: ":")) {
            position = colon + 1
            // Each search for a comma begins behind the last one, so that all of them together are one pass.
            if comma < colon {
                guard let next = text[colon...].firstIndex(of: UInt8(ascii: ",")) else { return }
                comma = next
            }
            guard colon >= 4, let url = EmbeddedURL(text, at: colon - 4, comma) else { continue }
            position = url.start
            guard url.isBase64 else {
                let isText = url.type.hasPrefix("text/") && url.type != "text/css" || !url.type.contains("/")
                guard isText, !text[url.start...].beginsDocument else {
                    throw refusal("a document or a style sheet in a data: URL")
                }
                continue
            }
            let end = text[url.start...].firstIndex { !$0.isPartOfBase64 } ?? text.endIndex
            guard let content = url.content(upTo: end, in: text) else { throw refusal("a data: URL that is damaged") }
            position = end
            if content.isFont { continue }
            if url.type.hasPrefix("image/") || ImageFormat(sniffing: content) != .unknown {
                try checkImage(content, isDrawing: url.type.contains("svg"))
            } else if Array(content.prefix(64))[...].beginsDocument {
                try checkDocument(content)
            } else {
                guard depth < Self.maximumDepth else { throw refusal("style sheets within style sheets") }
                let nested = SVGImages(options, images, depth: depth + 1)
                try nested.checkStyle(Array(content))
            }
        }
    }

    // MARK: - Sizes

    /// The size at which librsvg draws a nested SVG: its width and height, or else that of its view box.
    private func drawingSize(_ attributes: [XMLScanner.Attribute]) throws(ImageError) -> PixelSize {
        if attributes.contains(where: { $0.name == "style" && $0.value.setsSize }) {
            throw refusal("a drawing whose size is in a style sheet")
        }
        func text(_ name: String) -> String? {
            attributes.first { $0.name == name }.map { String(decoding: $0.value, as: UTF8.self) }
        }
        let box = (text("viewBox") ?? "").split { $0.isWhitespace || $0 == "," }.compactMap { Double($0) }
        func side(_ name: String, _ index: Int) -> Double? {
            guard let value = text(name)?.filter({ !$0.isWhitespace }), !value.hasSuffix("%") else {
                return box.count == 4 ? box[index] : nil
            }
            let units = ["px": 1, "pt": 96.0 / 72, "pc": 16, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96]
            for (unit, factor) in units where value.hasSuffix(unit) {
                return Double(value.dropLast(2)).map { $0 * factor }
            }
            return Double(value)
        }
        guard let width = side("width", 2), let height = side("height", 3), width.isFinite, height.isFinite else {
            throw refusal("a drawing without a size in pixels")
        }
        return PixelSize(width: Int(bounded: width.rounded(.up)), height: Int(bounded: height.rounded(.up))).bounded
    }
}

/// The beginning of a data: URL (RFC 2397).
private struct EmbeddedURL {
    /// The media type in lower case, as far as it is short.
    let type: String
    let isBase64: Bool
    /// Where the contents begin.
    let start: Int

    /// - Parameter comma: The position of the next comma.
    /// - Returns: `nil` when there is another URL.
    init?(_ text: [UInt8], at position: Int, _ comma: Int) {
        let name = text[position...].prefix(5)
        guard name.elementsEqual("data:".utf8, by: { $0 == $1 || $0.isLetterOrDigit && $0 | 0x20 == $1 }),
            comma >= position + 5
        else { return nil }
        // A word that ends in data is not the scheme.
        if position > 0, text[position - 1].isLetterOrDigit { return nil }
        start = comma + 1
        let header = text[(position + 5)..<comma]
        type = String(decoding: header.prefix(100), as: UTF8.self).lowercased().filter { !$0.isWhitespace }
        let end = header.suffix(64).filter { $0 != 0x20 }
        isBase64 = String(decoding: end, as: UTF8.self).lowercased().hasSuffix(";base64")
    }

    /// The decoded contents up to a position or the beginning of a fragment; `nil` when they are damaged or hold an entity.
    func content(upTo end: Int, in text: [UInt8]) -> Data? {
        let source = text[start..<end].prefix { $0 != UInt8(ascii: "#") }
        guard !source.contains(XMLScanner.entityMark) else { return nil }
        var bytes = Data(capacity: source.count)
        var rest = source
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let decoded = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16), rest.count >= 2
            else {
                return nil
            }
            bytes.append(decoded)
            rest = rest.dropFirst(2)
        }
        guard isBase64 else { return bytes }
        // Padding may be left out (WHATWG Infra, forgiving-base64 decode).
        var digits = bytes.filter { $0 > 0x20 && $0 != UInt8(ascii: "=") }
        digits += Data(repeating: UInt8(ascii: "="), count: (4 - digits.count % 4) % 4)
        return Data(base64Encoded: digits)
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// Whether a byte can be part of base64 in a URL: digits, escapes, white space, or an entity, which is refused.
    fileprivate var isPartOfBase64: Bool {
        isLetterOrDigit || [0x20, 0xFF].contains(self) || Array("+/=%#".utf8).contains(self)
    }
}

extension [UInt8] {
    /// Line breaks and tabs do not count in URLs (WHATWG URL, basic URL parser).
    fileprivate var withoutLineBreaks: [UInt8] { filter { $0 != 0x09 && $0 != 0x0A && $0 != 0x0D } }

    /// The text with the escapes of CSS replaced (CSS Syntax Level 3, section 4.3.7).
    fileprivate var withoutEscapes: [UInt8] {
        var result: [UInt8] = []
        var rest = self[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                result.append(byte)
                continue
            }
            let digits = rest.prefix(6).prefix { Character(Unicode.Scalar($0)).isHexDigit }
            if let number = UInt32(String(decoding: digits, as: UTF8.self), radix: 16) {
                if let scalar = Unicode.Scalar(number) { result += Array(Character(scalar).utf8) }
                rest = rest.dropFirst(digits.count)
                if rest.first == 0x20 { rest.removeFirst() }
            } else if let next = rest.popFirst() {
                result.append(next)
            }
        }
        return result
    }

    /// Whether a style sheet sets width or height, rather than such as stroke-width.
    fileprivate var setsSize: Bool {
        let text = String(decoding: self, as: UTF8.self).lowercased()
        return ["width", "height"].contains { name in
            text.ranges(of: name).contains { range in
                guard range.lowerBound > text.startIndex else { return true }
                let before = text[text.index(before: range.lowerBound)]
                return before != "-" && !before.isLetter
            }
        }
    }
}

extension ArraySlice<UInt8> {
    /// Whether the text looks like XML, or like bytes of a document that is not text.
    fileprivate var beginsDocument: Bool {
        guard let first = first(where: { $0 > 0x20 || $0 == 0 || $0 == 0x1F }) else { return false }
        return [UInt8(ascii: "<"), UInt8(ascii: "%"), 0, 0x1F, 0x4C, 0xEF, 0xFE, 0xFF].contains(first)
    }
}

extension Data {
    /// Whether the data begins like a font (OpenType, WOFF).
    fileprivate var isFont: Bool {
        let tags: [[UInt8]] = [
            Array("wOFF".utf8), Array("wOF2".utf8), Array("OTTO".utf8), Array("ttcf".utf8), [0, 1, 0, 0],
        ]
        return tags.contains { starts(with: $0) }
    }
}
