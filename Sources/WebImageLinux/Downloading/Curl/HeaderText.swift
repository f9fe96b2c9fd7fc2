import Glibc

/// Header fields as text. Fields are bytes (RFC 9110, 5.5), which servers compare when a client sends them back.
///
/// A value that is not UTF-8 gets a character of the private use area for each byte above 127, so that sending it
/// restores the bytes.
enum HeaderText {
    private static let first: UInt32 = 0xF700

    static func text(of bytes: UnsafePointer<CChar>) -> String {
        if let text = String(validatingCString: bytes), !text.unicodeScalars.contains(where: isByte) { return text }
        var scalars = String.UnicodeScalarView()
        for byte in UnsafeRawBufferPointer(start: bytes, count: strlen(bytes)) {
            scalars.append(byte < 128 ? Unicode.Scalar(byte) : Unicode.Scalar(first + UInt32(byte)) ?? "?")
        }
        return String(scalars)
    }

    /// The bytes of a text, followed by a zero byte.
    static func bytes(of text: String) -> [CChar] {
        guard text.unicodeScalars.contains(where: isByte) else { return Array(text.utf8CString) }
        let bytes = text.unicodeScalars.flatMap { scalar in
            isByte(scalar) ? [UInt8(scalar.value - first)] : Array(UTF8.encode(scalar) ?? .init())
        }
        return bytes.map { CChar(bitPattern: $0) } + [0]
    }

    private static func isByte(_ scalar: Unicode.Scalar) -> Bool {
        (first + 128...first + 255).contains(scalar.value)
    }
}

extension String {
    /// Whether HTTP allows the text as a method or the name of a field (RFC 9110, 5.6.2).
    var isHTTPToken: Bool {
        !isEmpty
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}
