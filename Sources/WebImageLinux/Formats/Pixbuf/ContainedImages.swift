import FoundationEssentials
import WebImageCore

/// The images inside of files that a loader of gdk-pixbuf decodes with further loaders, out of reach of the limits.
///
/// They are found before the loader sees the file, and their pixels together may be no more than those of one image.
struct ContainedImages {
    private let options: DecodeOptions
    private var pixelCount = 0

    private init(_ options: DecodeOptions) {
        self.options = options
    }

    /// Throws when the images inside of a file have too many pixels, or cannot be counted.
    static func check(_ data: Data, _ format: ImageFormat, options: DecodeOptions) throws(ImageError) {
        var images = ContainedImages(options)
        switch format {
        case .svg: try data.withByteReader { bytes throws(ImageError) in try images.checkSVG(bytes) }
        case .icns, .ani: try data.withByteReader { bytes throws(ImageError) in try images.checkBinary(bytes) }
        default: break
        }
    }

    private mutating func add(_ image: Data, in container: String) throws(ImageError) {
        let format = ImageFormat(sniffing: image)
        guard let header = ImageHeader(reading: image) else {
            throw options.badData("The \(container) holds an image whose size cannot be read (\(format.rawValue))")
        }
        try options.check(header.storedSize)
        pixelCount = pixelCount.boundedSum(header.storedSize.pixelCount)
        guard pixelCount <= options.pixelLimit else {
            throw ImageError(
                .imageTooLarge,
                url: options.url,
                reason: "The images in the \(container) have more pixels than the limit of \(options.pixelLimit)",
                remedy: "Use a smaller file, or raise maximumPixelCount in the manager's configuration."
            )
        }
    }

    // MARK: - ICNS and ANI

    /// An ICNS hands its larger entries to any loader, an ANI its frames to that of ICO, and both mean PNG.
    private mutating func checkBinary(_ bytes: ByteReader) throws(ImageError) {
        var start = 0
        while let next = bytes.firstIndex(of: 0x89, from: start) {
            start = next + 1
            guard bytes.matches([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], at: next) else { continue }
            // The header is the first chunk, which ends the search for an orientation here.
            guard let header = bytes.data(next, 33) else { continue }
            try add(header + [0, 0, 0, 0] + Data("IDAT".utf8), in: "icon")
        }
        guard bytes.matches("icns", at: 0) else { return }
        var offset = 8
        while let length = bytes.uint32BE(offset + 4), length >= 8 {
            let isFile = bytes.matches("ic0", at: offset) || bytes.matches("ic1", at: offset)
            let isKnown = bytes.matches([0x89, 0x50, 0x4E, 0x47], at: offset + 8)
            // JPEG 2000, of which there is hardly a loader, begins with a box or a code stream.
            let isJPEG2000 =
                bytes.matches("jP  ", at: offset + 12) || bytes.matches([0xFF, 0x4F, 0xFF, 0x51], at: offset + 8)
            guard !isFile || isKnown || isJPEG2000 else {
                throw options.badData("The icon holds an image that is neither PNG nor JPEG 2000")
            }
            offset += Int(length)
        }
    }

    // MARK: - SVG

    /// librsvg decodes the images of data URLs whole, at any size, and keeps them. Other URLs it does not load.
    private mutating func checkSVG(_ bytes: ByteReader) throws(ImageError) {
        try checkEncoding(bytes)
        var start = 0
        while let colon = bytes.firstIndex(of: UInt8(ascii: ":"), from: start) {
            start = colon + 1
            guard bytes.isScheme("data", endingAt: colon),
                let comma = bytes.firstIndex(of: UInt8(ascii: ","), from: colon)
            else { continue }
            let type = bytes.text(colon + 1, min(comma - colon - 1, 200)).lowercased()
            let isImage = !["text/", "font/", "application/"].contains { type.hasPrefix($0) }
            if type.hasSuffix(";base64") {
                let image = bytes.base64(from: comma + 1)
                // librsvg recognises some images by their bytes.
                if isImage || ImageFormat(sniffing: image) != .unknown { try add(image, in: "SVG") }
            } else if isImage || type.contains("&") {
                throw options.badData("The SVG holds an image that is not in base64")
            }
        }
    }

    /// Refuses what would hide a data URL from the search: other encodings, and references to characters or entities in the
    /// beginning of a URL.
    private func checkEncoding(_ bytes: ByteReader) throws(ImageError) {
        let head = bytes.text(0, 200).lowercased()
        if head.contains("encoding=") {
            let name = head.split(separator: "encoding=", maxSplits: 1).last?.dropFirst() ?? ""
            guard ["utf-8", "us-ascii", "iso-8859-", "windows-125"].contains(where: { name.hasPrefix($0) }) else {
                throw options.badData("The SVG is in an encoding that is not searched for images")
            }
        }
        // The magic number of gzip, byte order marks, and the null of a wide character.
        guard ![0x1F, 0xFE, 0xFF, 0].contains(bytes.uint8(0)), bytes.uint8(1) != 0 else {
            throw options.badData("The SVG is compressed or in 16 bits, which is not searched for images")
        }
        var start = 0
        while let sign = bytes.firstIndex(of: UInt8(ascii: "&"), from: start) {
            start = sign + 1
            // What stands between the quotation mark and the reference.
            var first = sign
            while first > 0, sign - first < 6, let byte = bytes.uint8(first - 1), byte != 0x22, byte != 0x27 {
                first -= 1
            }
            let lead = bytes.text(first, sign - first).lowercased()
            guard "data:".hasPrefix(lead), lead.count < 5, let name = bytes.reference(at: sign) else { continue }
            let next = Array("data:")[lead.count]
            // What begins with another reference can begin with anything.
            guard let found = bytes.beginning(of: name), found != next, !"&%<".contains(found) else {
                throw options.badData("The SVG hides the beginning of a value behind the reference &\(name);")
            }
        }
    }
}

extension ByteReader {
    fileprivate func text(_ offset: Int, _ length: Int) -> String {
        slice(offset, length).map { String(decoding: $0.bytes, as: UTF8.self) } ?? ""
    }

    /// The name of the character or entity that is referred to.
    fileprivate func reference(at sign: Int) -> String? {
        guard let end = firstIndex(of: UInt8(ascii: ";"), from: sign), end - sign < 64 else { return nil }
        return text(sign + 1, end - sign - 1)
    }

    /// The first character, in lower case, that a reference stands for; `nil` when it is not declared.
    fileprivate func beginning(of name: String) -> Character? {
        let known: [String: Character] = ["quot": "\"", "amp": "+", "lt": "-", "gt": ">", "apos": "'"]
        if let character = known[name] { return character }
        if name.hasPrefix("#") {
            let isHexadecimal = name.hasPrefix("#x")
            let number = UInt32(name.dropFirst(isHexadecimal ? 2 : 1), radix: isHexadecimal ? 16 : 10)
            return number.flatMap(Unicode.Scalar.init).flatMap { "\($0)".lowercased().first }
        }
        var start = 0
        while let sign = firstIndex(of: UInt8(ascii: "<"), from: start) {
            start = sign + 1
            guard matches("<!ENTITY", at: sign) else { continue }
            let words = text(sign + 8, 200).split(maxSplits: 1, whereSeparator: \.isWhitespace)
            guard words.count == 2, words[0] == name else { continue }
            return words[1].dropFirst().lowercased().first
        }
        return nil
    }

    /// Whether a value begins with these letters, in either case, before a colon.
    fileprivate func isScheme(_ name: String, endingAt end: Int) -> Bool {
        var start = end - name.utf8.count
        guard start > 0, text(start, end - start).lowercased() == name else { return false }
        while start > 0, let byte = uint8(start - 1), byte <= 0x20 { start -= 1 }
        return [0x22, 0x27, 0x28].contains(uint8(start - 1))
    }

    /// The beginning of what is encoded in base64 from a position to a quotation mark: enough for any header.
    fileprivate func base64(from start: Int) -> Data {
        var digits: [UInt8] = []
        var offset = start
        while digits.count < 1 << 20, let byte = uint8(offset), byte != 0x22, byte != 0x27 {
            if byte == UInt8(ascii: "&") {
                // A line break, as a reference.
                while let byte = uint8(offset), byte != UInt8(ascii: ";") { offset += 1 }
            } else if byte > 0x20 {
                digits.append(byte)
            }
            offset += 1
        }
        digits.removeLast(digits.count % 4)
        return Data(base64Encoded: Data(digits), options: .ignoreUnknownCharacters) ?? Data()
    }
}
