/// Unpacks the colour numbers of a GIF frame (GIF89a specification, appendix F), from blocks that may come bit by bit.
///
/// A code stands for a string that was unpacked before, so the dictionary holds where in the output that was: strings
/// are copied, not put together from the end.
struct LZWDecoder: ~Copyable {
    private static let codeLimit = 4096

    /// Colour numbers, in the order of the file.
    let output: UnsafeMutableBufferPointer<UInt8>
    /// How many of them there are so far.
    private(set) var count = 0
    /// Whether nothing more will come.
    private(set) var isDone = false
    /// Whether it ended at a code that stands for nothing.
    private(set) var isDamaged = false

    private let literalBits: Int
    private let clearCode: Int
    private let starts: UnsafeMutablePointer<Int32>
    private let lengths: UnsafeMutablePointer<Int32>
    private var nextCode: Int
    private var bitCount: Int
    private var previousStart = -1
    private var previousLength = 0
    private var bits: UInt64 = 0
    private var available = 0

    /// - Parameters:
    ///   - literalBits: As the frame says, 1 to 11; others are an error.
    ///   - pixelCount: How many colour numbers there are to be; more are left out.
    init?(literalBits: Int, pixelCount: Int) {
        guard (1...11).contains(literalBits) else { return nil }
        self.literalBits = literalBits
        clearCode = 1 << literalBits
        nextCode = clearCode + 2
        bitCount = literalBits + 1
        output = .allocate(capacity: max(pixelCount, 1))
        starts = .allocate(capacity: Self.codeLimit)
        lengths = .allocate(capacity: Self.codeLimit)
        isDone = pixelCount == 0
    }

    deinit {
        output.deallocate()
        starts.deallocate()
        lengths.deallocate()
    }

    /// Unpacks the next bytes.
    mutating func decode(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        while !isDone {
            while available <= 56, offset < bytes.count {
                bits |= UInt64(bytes[offset]) << UInt64(available)
                available += 8
                offset += 1
            }
            if available < bitCount { return }
            while available >= bitCount, !isDone {
                let code = Int(bits & (1 << UInt64(bitCount) - 1))
                bits >>= UInt64(bitCount)
                available -= bitCount
                take(code)
            }
        }
    }

    private mutating func take(_ code: Int) {
        if code < clearCode {
            // There are files whose codes have more bits than any colour number.
            let number = UInt8(truncatingIfNeeded: code)
            add(first: number)
            output[count] = number
            (previousStart, previousLength) = (count, 1)
            count += 1
        } else if code == clearCode {
            nextCode = clearCode + 2
            bitCount = literalBits + 1
            previousStart = -1
            return
        } else if code == clearCode + 1 {
            isDone = true
            return
        } else if code < nextCode {
            let (start, length) = (Int(starts[code]), Int(lengths[code]))
            add(first: output[start])
            copy(start, length)
        } else if code == nextCode, previousStart >= 0, nextCode < Self.codeLimit {
            // The string before, and its first number once more.
            let (start, length) = (previousStart, previousLength + 1)
            add(first: output[start])
            copy(start, length)
        } else {
            isDamaged = true
            isDone = true
            return
        }
        if count == output.count { isDone = true }
    }

    /// The string before, with one number more, is the next in the dictionary: as it happens, that number comes right
    /// after it in the output.
    private mutating func add(first: UInt8) {
        guard previousStart >= 0, nextCode < Self.codeLimit else { return }
        starts[nextCode] = Int32(truncatingIfNeeded: previousStart)
        lengths[nextCode] = Int32(truncatingIfNeeded: previousLength + 1)
        nextCode += 1
        if nextCode == 1 << bitCount, bitCount < 12 { bitCount += 1 }
    }

    private mutating func copy(_ start: Int, _ length: Int) {
        let length = min(length, output.count - count)
        let (source, target) = (output.baseAddress! + start, output.baseAddress! + count)
        // Forwards and one by one: the last number may be the first that is written.
        for index in 0..<length { target[index] = source[index] }
        (previousStart, previousLength) = (count, length)
        count += length
    }
}
