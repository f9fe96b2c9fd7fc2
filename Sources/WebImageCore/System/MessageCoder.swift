/// Writes or reads the fields of a message, so that a type lists them once for both. An attacker may have written what is read, so no
/// message makes a reader leave its bytes.
@usableFromInline package struct MessageCoder {
    /// Why a message cannot be read.
    @usableFromInline package enum Malformed: Error {
        /// No writer produces it.
        case content
        /// This process has no memory for it.
        case outOfMemory
    }

    package let isReading: Bool
    /// The bytes that were written, or that are not read yet.
    package private(set) var bytes: ArraySlice<UInt8>

    package init() {
        (isReading, bytes) = (false, [])
        bytes.reserveCapacity(512)
    }

    package init(reading bytes: ArraySlice<UInt8>) { (isReading, self.bytes) = (true, bytes) }

    /// Rejects values that no writer produces.
    @usableFromInline package func check(_ isValid: Bool) throws(Malformed) {
        if isReading, !isValid { throw .content }
    }

    @usableFromInline package mutating func code<Number: FixedWidthInteger>(_ value: inout Number) throws(Malformed) {
        var number = value.littleEndian
        try withUnsafeMutableBytes(of: &number) { number throws(Malformed) in
            guard isReading else { return bytes.append(contentsOf: number) }
            try check(bytes.count >= number.count)
            number.copyBytes(from: bytes.prefix(number.count))
            bytes = bytes.dropFirst(number.count)
        }
        value = Number(littleEndian: number)
    }

    package mutating func code(_ value: inout Double) throws(Malformed) {
        var bits = value.bitPattern
        try code(&bits)
        value = Double(bitPattern: bits)
    }

    /// One of a few values. Any other value is written as the first of them. It is inlined, because generic code of another
    /// module would allocate the values for each field.
    @inlinable
    package mutating func code<Value: Equatable>(_ value: inout Value, among values: [Value]) throws(Malformed) {
        var index = UInt8(values.firstIndex(of: value) ?? 0)
        try code(&index)
        try check(index < values.count)
        value = values[Int(index)]
    }

    package mutating func code(_ value: inout Bool) throws(Malformed) { try code(&value, among: [false, true]) }

    /// A text, which is cut off behind a number of bytes.
    package mutating func code(_ text: inout String, longest: Int = .max) throws(Malformed) {
        if let read = try code(text.utf8.prefix(longest)) {
            try check(read.count <= longest)
            text = String(decoding: read, as: UTF8.self)
        }
    }

    /// Writes bytes behind their number, or reads as many as were written.
    mutating func code(_ content: some Collection<UInt8>) throws(Malformed) -> ArraySlice<UInt8>? {
        var count = UInt32(clamping: content.count)
        try code(&count)
        guard isReading else {
            bytes.append(contentsOf: content.prefix(Int(count)))
            return nil
        }
        try check(count <= bytes.count)
        defer { bytes = bytes.dropFirst(Int(count)) }
        return bytes.prefix(Int(count))
    }
}
