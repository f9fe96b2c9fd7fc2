package import FoundationEssentials

/// Reads numbers from untrusted bytes. A read out of bounds returns `nil` and never traps.
package struct ByteReader {
    package let bytes: UnsafeRawBufferPointer

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    package var count: Int { bytes.count }

    package func uint8(_ offset: Int) -> UInt8? {
        offset >= 0 && offset < bytes.count ? bytes[offset] : nil
    }

    package func uint16BE(_ offset: Int) -> UInt16? { number(offset, bigEndian: true) }
    package func uint16LE(_ offset: Int) -> UInt16? { number(offset, bigEndian: false) }
    package func uint32BE(_ offset: Int) -> UInt32? { number(offset, bigEndian: true) }
    package func uint32LE(_ offset: Int) -> UInt32? { number(offset, bigEndian: false) }

    func uint24LE(_ offset: Int) -> UInt32? {
        guard let low = uint16LE(offset), let high = uint8(offset + 2) else { return nil }
        return UInt32(low) | UInt32(high) << 16
    }

    package func matches(_ pattern: [UInt8], at offset: Int) -> Bool {
        guard offset >= 0, offset <= bytes.count, pattern.count <= bytes.count - offset else { return false }
        return pattern.indices.allSatisfy { bytes[offset + $0] == pattern[$0] }
    }

    package func matches(_ pattern: StaticString, at offset: Int) -> Bool {
        let length = pattern.utf8CodeUnitCount
        guard offset >= 0, offset <= bytes.count, length <= bytes.count - offset else { return false }
        return (0..<length).allSatisfy { bytes[offset + $0] == pattern.utf8Start[$0] }
    }

    /// Returns at most `length` bytes from `offset` on, or `nil` if the offset lies outside of the bytes.
    package func slice(_ offset: Int, _ length: Int) -> ByteReader? {
        guard offset >= 0, length >= 0, offset <= bytes.count else { return nil }
        let end = offset + min(length, bytes.count - offset)
        return ByteReader(UnsafeRawBufferPointer(rebasing: bytes[offset..<end]))
    }

    /// A copy of `length` bytes from `offset` on; `nil` if there are fewer.
    package func data(_ offset: Int, _ length: Int) -> Data? {
        guard offset >= 0, length >= 0, offset <= bytes.count, length <= bytes.count - offset else { return nil }
        return Data(bytes[offset..<offset + length])
    }

    /// The position of the next `byte` at or after `offset`.
    package func firstIndex(of byte: UInt8, from offset: Int) -> Int? {
        guard offset >= 0, offset < bytes.count else { return nil }
        return bytes[offset...].firstIndex(of: byte)
    }

    private func number<T: FixedWidthInteger>(_ offset: Int, bigEndian: Bool) -> T? {
        guard offset >= 0, offset <= bytes.count, MemoryLayout<T>.size <= bytes.count - offset else { return nil }
        let raw = bytes.loadUnaligned(fromByteOffset: offset, as: T.self)
        return bigEndian ? T(bigEndian: raw) : T(littleEndian: raw)
    }
}

extension Data {
    /// Calls body with a reader of the bytes, which is valid during the call.
    package func withByteReader<R>(_ body: (ByteReader) throws(ImageError) -> R) throws(ImageError) -> R {
        // withUnsafeBytes does not preserve the type of the error.
        let result: Result<R, ImageError> = withUnsafeBytes { bytes in
            do throws(ImageError) {
                return .success(try body(ByteReader(bytes)))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
