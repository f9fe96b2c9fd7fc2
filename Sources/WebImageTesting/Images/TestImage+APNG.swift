import FoundationEssentials
import WebImageCore

extension TestImage {
    /// The frames as gdk-pixbuf writes them, one file each, put together (PNG specification, third edition).
    static func apng(_ colors: [UInt32], _ size: PixelSize, _ duration: Int, _ loopCount: Int) -> Data {
        var file = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        var sequence: UInt32 = 0
        for (index, color) in colors.enumerated() {
            let chunks = chunks(of: solid(color, size: size))
            if index == 0 {
                for chunk in chunks where chunk.name == "IHDR" { file += bytes("IHDR", chunk.contents) }
                file += bytes("acTL", number(UInt32(colors.count)) + number(UInt32(loopCount)))
            }
            var control = number(sequence) + number(UInt32(size.width)) + number(UInt32(size.height))
            control += number(0) + number(0)
            control += [UInt8(duration >> 8), UInt8(duration & 255), 0, 100, 0, 0]
            file += bytes("fcTL", control)
            sequence += 1
            for chunk in chunks where chunk.name == "IDAT" {
                if index == 0 {
                    file += bytes("IDAT", chunk.contents)
                } else {
                    file += bytes("fdAT", number(sequence) + chunk.contents)
                    sequence += 1
                }
            }
        }
        return file + bytes("IEND", [])
    }

    private static func chunks(of file: Data) -> [(name: String, contents: [UInt8])] {
        let bytes = [UInt8](file)
        var chunks: [(String, [UInt8])] = []
        var offset = 8
        while offset + 12 <= bytes.count {
            let length = bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
            let contents = Array(bytes[offset + 8..<offset + 8 + length])
            chunks.append((String(decoding: bytes[offset + 4..<offset + 8], as: UTF8.self), contents))
            offset += 12 + length
        }
        return chunks
    }

    private static func bytes(_ name: String, _ contents: [UInt8]) -> [UInt8] {
        let checked = Array(name.utf8) + contents
        return number(UInt32(contents.count)) + checked + number(checksum(checked))
    }

    private static func number(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
    }

    /// CRC-32 as PNG has it, bit by bit: these files are small.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var sum = UInt32.max
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return ~sum
    }
}
