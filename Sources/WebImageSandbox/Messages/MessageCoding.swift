import FoundationEssentials

/// Writes the numbers and texts of a message between the app and its decode workers.
struct MessageWriter {
    private(set) var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(256) }

    mutating func add(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func add(_ value: Bool) { bytes.append(value ? 1 : 0) }

    mutating func add(_ value: Double) { add(value.bitPattern) }

    mutating func add(_ text: String) {
        let text = text.utf8.prefix(Self.longestText)
        add(UInt16(text.count))
        bytes.append(contentsOf: text)
    }

    static let longestText = 1024
}

/// Reads what ``MessageWriter`` has written. The other end may be in the hands of an attacker: nothing that it says makes the
/// reader leave its bytes.
struct MessageReader {
    /// A message that no writer has written.
    struct Malformed: Error {}

    private var bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// The bytes that are not read yet.
    var rest: ArraySlice<UInt8> { bytes }

    mutating func number<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) throws(Malformed) -> Number {
        let size = MemoryLayout<Number>.size
        guard bytes.count >= size else { throw Malformed() }
        var value = Number.zero
        withUnsafeMutableBytes(of: &value) { $0.copyBytes(from: bytes.prefix(size)) }
        bytes = bytes.dropFirst(size)
        return Number(littleEndian: value)
    }

    mutating func flag() throws(Malformed) -> Bool {
        switch try number(UInt8.self) {
        case 0: false
        case 1: true
        default: throw Malformed()
        }
    }

    mutating func real() throws(Malformed) -> Double { Double(bitPattern: try number()) }

    /// A number of bytes, pixels or frames, which is never negative.
    mutating func count() throws(Malformed) -> Int {
        let value = try number(Int64.self)
        guard value >= 0, let count = Int(exactly: value) else { throw Malformed() }
        return count
    }

    mutating func text() throws(Malformed) -> String {
        let count = Int(try number(UInt16.self))
        guard count <= bytes.count, count <= MessageWriter.longestText else { throw Malformed() }
        defer { bytes = bytes.dropFirst(count) }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
