import Glibc

/// Unpacks the color indices of a GIF frame (GIF89a specification, appendix F) from blocks that may arrive in pieces.
///
/// A code represents a string that was unpacked before. The dictionary stores the position of the string in the output, so strings
/// are copied forwards instead of assembled from the end.
struct LZWDecoder: ~Copyable {
    /// The position of a string relative to the output. Strings of a single index are stored before the output.
    private struct Place {
        var start: Int32
        var length: Int32
    }

    /// The code sizes that a frame may have.
    static let literalBits = 1...11
    private static let codeLimit = 4096
    /// Spare bytes after the output, since strings are copied in steps of eight bytes.
    private static let slack = 8
    private static let numbers = 256
    private static let noString = Place(start: -1, length: 0)

    private let memory: UnsafeMutablePointer<UInt8>
    /// The color indices in the order of the file.
    let output: UnsafeMutablePointer<UInt8>
    /// The expected number of indices.
    let capacity: Int
    /// The number of unpacked indices.
    private(set) var count = 0
    /// Whether the data has ended.
    private(set) var isDone: Bool
    /// Whether the data ended at an invalid code.
    private(set) var isDamaged = false

    private let literalBits: Int
    private let places: UnsafeMutablePointer<Place>
    private var nextCode: Int
    private var bitCount: Int
    /// The previous string; none right after a clear code.
    private var previous = Self.noString
    private var bits: UInt64 = 0
    private var available = 0

    /// - Parameters:
    ///   - literalBits: The minimum code size of the frame, 1 to 11; other sizes make `nil`.
    ///   - pixelCount: The expected number of indices; further ones are dropped.
    /// - Returns: `nil` if out of memory.
    init?(literalBits: Int, pixelCount: Int) {
        // A small file may claim any number of pixels, so malloc may fail.
        guard Self.literalBits.contains(literalBits), let start = malloc(Self.numbers + pixelCount + Self.slack)
        else { return nil }
        self.literalBits = literalBits
        nextCode = 1 << literalBits + 2
        bitCount = literalBits + 1
        memory = start.assumingMemoryBound(to: UInt8.self)
        output = memory + Self.numbers
        capacity = pixelCount
        places = .allocate(capacity: Self.codeLimit)
        for number in 0..<Self.numbers { memory[number] = UInt8(number) }
        for code in 0..<1 << literalBits {
            // Some files have codes with more bits than a color index.
            places[code] = Place(start: Int32(code & 255) - Int32(Self.numbers), length: 1)
        }
        isDone = pixelCount == 0
    }

    deinit {
        free(memory)
        places.deallocate()
    }

    /// Unpacks the next bytes.
    mutating func decode(_ bytes: UnsafeRawBufferPointer) {
        guard !isDone else { return }
        // Local copies stay in registers, since decoding a GIF spends most time in this loop.
        var (bits, available, bitCount, nextCode) = (bits, available, bitCount, nextCode)
        var (count, previous) = (count, previous)
        let (output, places, capacity) = (output, places, capacity)
        let clearCode = 1 << literalBits
        var offset = 0
        while true {
            if available < bitCount {
                offset += Self.refill(&bits, &available, bytes, offset)
                if available < bitCount { break }
            }
            let code = Int(bits & (1 << UInt64(bitCount) - 1))
            bits >>= UInt64(bitCount)
            available -= bitCount
            if code == clearCode {
                nextCode = clearCode + 2
                bitCount = literalBits + 1
                previous = Self.noString
                continue
            }
            if code == clearCode + 1 {
                isDone = true
                break
            }
            // The next string of the dictionary is the previous string plus the index that follows it in the output. The current
            // code may refer to this new string.
            if previous.start >= 0, nextCode < Self.codeLimit {
                places[nextCode] = Place(start: previous.start, length: previous.length + 1)
                nextCode += 1
                if nextCode == 1 << bitCount, bitCount < 12 { bitCount += 1 }
            }
            guard code < nextCode else {
                isDamaged = true
                isDone = true
                break
            }
            let place = places[code]
            let length = min(Int(place.length), capacity - count)
            Self.copy(output + Int(place.start), to: output + count, length)
            previous = Place(start: Int32(truncatingIfNeeded: count), length: Int32(truncatingIfNeeded: length))
            count += length
            if count == capacity {
                isDone = true
                break
            }
        }
        (self.bits, self.available, self.bitCount, self.nextCode) = (bits, available, bitCount, nextCode)
        (self.count, self.previous) = (count, previous)
    }

    /// - Returns: The number of bytes read.
    @inline(__always)
    private static func refill(
        _ bits: inout UInt64,
        _ available: inout Int,
        _ bytes: UnsafeRawBufferPointer,
        _ offset: Int
    ) -> Int {
        if offset + 8 <= bytes.count {
            // Bytes that do not fit are read by the next call.
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            bits |= word << UInt64(available)
            let taken = (63 - available) >> 3
            available += taken * 8
            bits &= 1 << UInt64(available) - 1
            return taken
        }
        var taken = 0
        while available <= 56, offset + taken < bytes.count {
            bits |= UInt64(bytes[offset + taken]) << UInt64(available)
            available += 8
            taken += 1
        }
        return taken
    }

    @inline(__always)
    private static func copy(
        _ source: UnsafeMutablePointer<UInt8>,
        to target: UnsafeMutablePointer<UInt8>,
        _ length: Int
    ) {
        guard target - source >= slack else {
            // The copy runs forwards one by one, because source and target may overlap.
            for index in 0..<length { target[index] = source[index] }
            return
        }
        let (from, to) = (UnsafeRawPointer(source), UnsafeMutableRawPointer(target))
        var index = 0
        while index < length {
            to.storeBytes(
                of: from.loadUnaligned(fromByteOffset: index, as: UInt64.self),
                toByteOffset: index,
                as: UInt64.self
            )
            index += slack
        }
    }
}
