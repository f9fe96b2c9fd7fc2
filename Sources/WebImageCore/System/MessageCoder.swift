import FoundationEssentials

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
    private mutating func code(_ content: some Collection<UInt8>) throws(Malformed) -> ArraySlice<UInt8>? {
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

// The fields of entries of the disk cache.
extension MessageCoder {
    /// Whether a field is there, before the field. A reader at the end of the bytes finds none, so a later version can add optional
    /// fields to the end of a message, and earlier versions ignore them.
    /// - Parameter empty: What a field is read into.
    mutating func code<Value>(presenceOf value: inout Value?, or empty: @autoclosure () -> Value) throws(Malformed) {
        var isThere = value != nil
        if isReading, bytes.isEmpty { isThere = false } else { try code(&isThere) }
        if isReading { value = isThere ? empty() : nil }
    }

    mutating func code(_ text: inout String?) throws(Malformed) {
        try code(presenceOf: &text, or: "")
        if text != nil { try code(&text!) }
    }

    mutating func code(_ data: inout Data?) throws(Malformed) {
        try code(presenceOf: &data, or: Data())
        if let content = data, let read = try code(content) { data = Data(read) }
    }

    /// A number, which counts as missing if it is not finite.
    mutating func code(_ value: inout Double?) throws(Malformed) {
        try code(presenceOf: &value, or: 0)
        if value != nil { try code(&value!) }
        if value?.isFinite == false { value = nil }
    }

    mutating func code(_ date: inout Date?) throws(Malformed) {
        var seconds = date?.timeIntervalSinceReferenceDate
        try code(&seconds)
        date = seconds.map(Date.init(timeIntervalSinceReferenceDate:))
    }

    mutating func code(_ fields: inout [String: String]?) throws(Malformed) {
        try code(presenceOf: &fields, or: [:])
        guard let written = fields else { return }
        var count = UInt32(written.count)
        try code(&count)
        var pairs = written.makeIterator()
        for _ in 0..<count {
            var (name, value) = pairs.next() ?? ("", "")
            try code(&name)
            try code(&value)
            if isReading { fields?[name] = value }
        }
    }
}
