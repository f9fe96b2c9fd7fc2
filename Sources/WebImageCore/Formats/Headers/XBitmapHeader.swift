/// The header of an X bitmap: the width and the height as definitions of C, in front of an array (X11, XReadBitmapFile(3)).
enum XBitmapHeader {
    /// The bytes of the longest name that counts. gdk-pixbuf reads lines of at most as many, and without a limit a file of nothing
    /// but the beginnings of definitions would take the square of its length.
    private static let longestName = 255

    /// A definition, or a comment in front of one.
    @Sendable static func isSignature(_ bytes: ByteReader) -> Bool {
        guard bytes.matches("#define", at: 0) || bytes.matches("/*", at: 0) else { return false }
        return definitions(bytes) { name, _ in isSide("width", name) }
    }

    /// The largest sides that the file defines: which of several definitions counts depends on the reader.
    @Sendable static func read(_ bytes: ByteReader) -> ImageHeader? {
        var (width, height) = (0, 0)
        _ = definitions(bytes) { name, value in
            if isSide("width", name) { width = max(width, value) }
            if isSide("height", name) { height = max(height, value) }
            return false
        }
        guard width > 0, height > 0 else { return nil }
        return ImageHeader(format: .xbm, storedSize: PixelSize(width: width, height: height))
    }

    /// Whether a name is that of a side, alone or after an underscore.
    private static func isSide(_ side: StaticString, _ name: ByteReader) -> Bool {
        let start = name.count - side.utf8CodeUnitCount
        return name.matches(side, at: start) && (start == 0 || name.uint8(start - 1) == UInt8(ascii: "_"))
    }

    /// Calls body with the name and the number of each definition, until it returns true.
    /// - Returns: Whether it has.
    private static func definitions(_ bytes: ByteReader, _ body: (ByteReader, Int) -> Bool) -> Bool {
        var position = 0
        while let start = bytes.firstIndex(of: UInt8(ascii: "#"), from: position) {
            position = start + 1
            guard bytes.matches("#define", at: start) else { continue }
            var offset = start + 7
            skipSpace(bytes, &offset)
            let nameStart = offset
            while let byte = bytes.uint8(offset), !isSpace(byte), offset - nameStart <= longestName { offset += 1 }
            position = max(position, nameStart)
            guard offset - nameStart <= longestName, let name = bytes.slice(nameStart, offset - nameStart) else {
                continue
            }
            skipSpace(bytes, &offset)
            if bytes.uint8(offset) == UInt8(ascii: "+") { offset += 1 }
            var value = 0
            while let byte = bytes.uint8(offset), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
                value = value.boundedProduct(10).boundedSum(Int(byte - UInt8(ascii: "0")))
                offset += 1
            }
            if body(name, value) { return true }
        }
        return false
    }

    private static func skipSpace(_ bytes: ByteReader, _ offset: inout Int) {
        while let byte = bytes.uint8(offset), isSpace(byte) { offset += 1 }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}
