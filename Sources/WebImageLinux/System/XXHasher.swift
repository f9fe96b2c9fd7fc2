internal import CWebImageXXHash
import WebImageCore

/// XXH3, at the speed of memory.
package struct XXHasher: ContentHashing {
    package init() {}

    package func name(for key: String) -> String {
        var key = key
        let hash = key.withUTF8 { XXH3_128bits($0.baseAddress, $0.count) }
        return Self.hexadecimal(hash.high64) + Self.hexadecimal(hash.low64)
    }

    package func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        XXH3_64bits(bytes.baseAddress, bytes.count)
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
