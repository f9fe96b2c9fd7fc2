import FoundationEssentials
import WebImageCore

/// The fields of a message. Each type lists its fields once, for both writing and reading.
protocol MessageFields {
    mutating func code(_ coder: inout MessageCoder) throws(MessageCoder.Malformed)
}

extension MessageFields {
    /// The bytes of the message.
    var message: [UInt8] {
        var (fields, coder) = (self, MessageCoder())
        do {
            try fields.code(&coder)
        } catch {
            preconditionFailure("Only a message that is read can be malformed")
        }
        return Array(coder.bytes)
    }
}

/// Writes or reads the fields of a message between the app and its decode workers. An attacker may control the other
/// end, so no message makes a reader leave its bytes.
struct MessageCoder {
    /// A message that no writer produces, or that this process has no memory for.
    struct Malformed: Error {
        var isOfMemory = false
    }

    static let longestText = 1024

    let isReading: Bool
    /// The bytes that were written, or that are not read yet.
    private(set) var bytes: ArraySlice<UInt8>

    init() {
        (isReading, bytes) = (false, [])
        bytes.reserveCapacity(512)
    }

    init(reading bytes: ArraySlice<UInt8>) { (isReading, self.bytes) = (true, bytes) }

    /// Rejects values that no writer produces.
    func check(_ isValid: Bool) throws(Malformed) {
        if isReading, !isValid { throw Malformed() }
    }

    mutating func code(_ value: inout some FixedWidthInteger) throws(Malformed) {
        try withUnsafeMutableBytes(of: &value) { value throws(Malformed) in
            guard isReading else { return bytes.append(contentsOf: value) }
            try check(bytes.count >= value.count)
            value.copyBytes(from: bytes.prefix(value.count))
            bytes = bytes.dropFirst(value.count)
        }
    }

    /// A number of bytes, pixels or frames, which is never negative.
    mutating func code(count: inout Int) throws(Malformed) {
        try code(&count)
        try check(count >= 0)
    }

    mutating func code(_ value: inout Int?) throws(Malformed) {
        var number = value ?? -1
        try code(&number)
        value = number < 0 ? nil : number
    }

    mutating func code(_ value: inout Double) throws(Malformed) {
        var bits = value.bitPattern
        try code(&bits)
        value = Double(bitPattern: bits)
    }

    /// One of a few values. Any other value is written as the first of them.
    mutating func code<Value: Equatable>(_ value: inout Value, among values: [Value]) throws(Malformed) {
        var index = UInt8(values.firstIndex(of: value) ?? 0)
        try code(&index)
        try check(index < values.count)
        value = values[Int(index)]
    }

    mutating func code(_ value: inout Bool) throws(Malformed) { try code(&value, among: [false, true]) }

    mutating func code(_ text: inout String) throws(Malformed) {
        var utf8 = Array(text.utf8.prefix(Self.longestText))
        var count = UInt16(utf8.count)
        try code(&count)
        guard isReading else { return bytes.append(contentsOf: utf8) }
        try check(count <= bytes.count && count <= Self.longestText)
        utf8 = Array(bytes.prefix(Int(count)))
        bytes = bytes.dropFirst(Int(count))
        text = String(decoding: utf8, as: UTF8.self)
    }

    mutating func code(_ format: inout ImageFormat) throws(Malformed) {
        var name = format.rawValue
        try code(&name)
        format = ImageFormat(rawValue: name)
    }

    /// A size, which may be empty.
    mutating func code(_ size: inout PixelSize) throws(Malformed) {
        try code(&size.width)
        try code(&size.height)
    }

    /// The size of an image, with at most the largest side that an image may have (``DecodeOptions``).
    mutating func code(imageSize size: inout PixelSize) throws(Malformed) {
        try code(&size)
        try check(!size.isEmpty && max(size.width, size.height) <= 1 << 20)
    }
}
