import FoundationEssentials

/// Packs the color indices of a GIF frame (GIF89a specification, appendix F).
enum LZWEncoder {
    private static let codeLimit = 4096
    /// The size of the dictionary's hash table: four places a code, so that few codes collide.
    private static let placeCount = 1 << 14

    /// The blocks of a frame that follow its code size, including the final empty block.
    /// - Parameter literalBits: The number of bits of an index, 2 to 8.
    static func blocks(_ indices: UnsafeBufferPointer<UInt8>, literalBits: Int) -> Data {
        var output = BitBlocks()
        let clearCode = 1 << literalBits
        // A place has a prefix code and the next index in its upper bits, and the resulting code in the lower twelve; 0 is free.
        var places = [UInt32](repeating: 0, count: placeCount)
        var (nextCode, bitCount) = (clearCode + 2, literalBits + 1)
        output.append(clearCode, bitCount)
        guard let first = indices.first else {
            output.append(clearCode + 1, bitCount)
            return output.finish()
        }
        var prefix = Int(first)
        places.withUnsafeMutableBufferPointer { places in
            for position in 1..<max(indices.count, 1) {
                let index = Int(indices[position])
                let string = UInt32(prefix << 8 | index)
                var place = Int((string &* 2_654_435_761) >> 18)
                while places[place] != 0, places[place] >> 12 != string { place = (place + 1) & (placeCount - 1) }
                if places[place] != 0 {
                    prefix = Int(places[place] & 0xFFF)
                    continue
                }
                output.append(prefix, bitCount)
                if nextCode < codeLimit {
                    places[place] = string << 12 | UInt32(nextCode)
                    // A reader adds each string one code later than the writer.
                    if nextCode == 1 << bitCount { bitCount += 1 }
                    nextCode += 1
                } else {
                    output.append(clearCode, bitCount)
                    places.update(repeating: 0)
                    (nextCode, bitCount) = (clearCode + 2, literalBits + 1)
                }
                prefix = index
            }
        }
        output.append(prefix, bitCount)
        if nextCode == 1 << bitCount, bitCount < 12 { bitCount += 1 }
        output.append(clearCode + 1, bitCount)
        return output.finish()
    }

    /// Codes in blocks of at most 255 bytes.
    private struct BitBlocks {
        private var data = Data()
        private var block: [UInt8] = []
        private var bits: UInt32 = 0
        private var available = 0

        init() {
            block.reserveCapacity(255)
        }

        mutating func append(_ code: Int, _ bitCount: Int) {
            bits |= UInt32(code) << UInt32(available)
            available += bitCount
            while available >= 8 {
                append(UInt8(truncatingIfNeeded: bits))
                bits >>= 8
                available -= 8
            }
        }

        private mutating func append(_ byte: UInt8) {
            block.append(byte)
            if block.count == 255 { endBlock() }
        }

        private mutating func endBlock() {
            guard !block.isEmpty else { return }
            data.append(UInt8(block.count))
            data.append(contentsOf: block)
            block.removeAll(keepingCapacity: true)
        }

        mutating func finish() -> Data {
            if available > 0 { append(UInt8(truncatingIfNeeded: bits)) }
            endBlock()
            data.append(0)
            return data
        }
    }
}
