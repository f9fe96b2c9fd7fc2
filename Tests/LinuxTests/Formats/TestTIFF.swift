import FoundationEssentials

/// Writes TIFF files of every kind without compression (TIFF 6.0; BigTIFF by libtiff).
struct TestTIFF {
    /// An entry of a directory.
    struct Entry {
        let tag: Int
        /// 3 for 16 bits, 4 for 32, 7 for bytes, 16 for 64.
        var type = 3
        var values: [UInt64]
    }

    var width = 6
    var height = 4
    var bitCount = 8
    var sampleCount = 3
    var photometric = 2
    /// 0 for unknown samples, 1 for premultiplied, 2 for straight alpha.
    var extraSamples: [Int] = []
    var sampleFormat = 1
    var orientation: Int?
    var isPlanar = false
    var tileSide: Int?
    var rowsPerStrip = 3
    /// All red, then all green, then all blue values.
    var palette: [UInt64] = []
    var profile: [UInt8] = []
    var isBigEndian = false
    var isBigTIFF = false
    /// The position of the next directory; `nil` for none.
    var nextDirectory: UInt64?
    /// Entries that replace those of the same tag.
    var changes: [Entry] = []
    /// The value of a sample at (x, y).
    var sample: (_ x: Int, _ y: Int, _ sample: Int) -> UInt64 = { _, _, _ in 0 }

    func bytes(_ number: UInt64, _ count: Int) -> [UInt8] {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: number >> UInt64($0 * 8)) }
        return isBigEndian ? bytes.reversed() : bytes
    }

    /// The tiles or strips in order.
    private var segments: [[UInt8]] {
        let (segmentWidth, segmentHeight) = (tileSide ?? width, tileSide ?? rowsPerStrip)
        var segments: [[UInt8]] = []
        for plane in 0..<(isPlanar ? sampleCount : 1) {
            let samples = isPlanar ? plane..<plane + 1 : 0..<sampleCount
            for top in stride(from: 0, to: height, by: segmentHeight) {
                for left in stride(from: 0, to: width, by: segmentWidth) {
                    let rows = tileSide == nil ? min(segmentHeight, height - top) : segmentHeight
                    segments.append(
                        (top..<top + rows).flatMap { row($0, left..<left + segmentWidth, samples) }
                    )
                }
            }
        }
        return segments
    }

    private func row(_ y: Int, _ columns: Range<Int>, _ samples: Range<Int>) -> [UInt8] {
        let values = columns.flatMap { x in samples.map { sample(x, y, $0) } }
        if bitCount % 8 == 0 { return values.flatMap { bytes($0, bitCount / 8) } }
        var row = [UInt8](repeating: 0, count: (values.count * bitCount + 7) / 8)
        for (index, value) in values.enumerated() {
            for bit in 0..<bitCount where value >> UInt64(bitCount - 1 - bit) & 1 == 1 {
                let position = index * bitCount + bit
                row[position / 8] |= 0x80 >> UInt8(position % 8)
            }
        }
        return row
    }

    private func entries(_ offsets: [UInt64], _ counts: [UInt64]) -> [Entry] {
        var entries = [
            Entry(tag: 256, type: 4, values: [UInt64(width)]),
            Entry(tag: 257, type: 4, values: [UInt64(height)]),
            Entry(tag: 258, values: [UInt64](repeating: UInt64(bitCount), count: sampleCount)),
            Entry(tag: 259, values: [1]),
            Entry(tag: 262, values: [UInt64(photometric)]),
            Entry(tag: 277, values: [UInt64(sampleCount)]),
            Entry(tag: 284, values: [isPlanar ? 2 : 1]),
            Entry(tag: 339, values: [UInt64](repeating: UInt64(sampleFormat), count: sampleCount)),
        ]
        if let orientation { entries.append(Entry(tag: 274, values: [UInt64(orientation)])) }
        if !extraSamples.isEmpty { entries.append(Entry(tag: 338, values: extraSamples.map(UInt64.init))) }
        if !palette.isEmpty { entries.append(Entry(tag: 320, values: palette)) }
        if !profile.isEmpty { entries.append(Entry(tag: 34675, type: 7, values: profile.map(UInt64.init))) }
        if let tileSide {
            entries.append(Entry(tag: 322, values: [UInt64(tileSide)]))
            entries.append(Entry(tag: 323, values: [UInt64(tileSide)]))
        } else {
            entries.append(Entry(tag: 278, type: 4, values: [UInt64(rowsPerStrip)]))
        }
        entries.append(Entry(tag: tileSide == nil ? 273 : 324, type: 4, values: offsets))
        entries.append(Entry(tag: tileSide == nil ? 279 : 325, type: 4, values: counts))
        entries.removeAll { entry in changes.contains { $0.tag == entry.tag } }
        return (entries + changes.filter { !$0.values.isEmpty }).sorted { $0.tag < $1.tag }
    }

    /// The file: the header, the pixels, values of the directory that do not fit in it, the directory.
    var file: Data {
        let size = isBigTIFF ? 8 : 4
        var body: [UInt8] = []
        let start = isBigTIFF ? 16 : 8
        var offsets: [UInt64] = []
        let segments = segments
        for segment in segments {
            offsets.append(UInt64(start + body.count))
            body += segment
        }
        var directory: [UInt8] = []
        let entries = entries(offsets, segments.map { UInt64($0.count) })
        for entry in entries {
            let width = [3: 2, 4: 4, 7: 1, 16: 8][entry.type] ?? 1
            var values = entry.values.flatMap { bytes($0, width) }
            if values.count > size {
                body += [UInt8](repeating: 0, count: body.count % 2)
                let offset = UInt64(start + body.count)
                body += values
                values = bytes(offset, size)
            }
            directory += bytes(UInt64(entry.tag), 2) + bytes(UInt64(entry.type), 2)
            directory += bytes(UInt64(entry.values.count), size)
            directory += values + [UInt8](repeating: 0, count: size - values.count)
        }
        body += [UInt8](repeating: 0, count: body.count % 2)
        var header = Array((isBigEndian ? "MM" : "II").utf8) + bytes(isBigTIFF ? 43 : 42, 2)
        if isBigTIFF { header += bytes(8, 2) + bytes(0, 2) }
        header += bytes(UInt64(start + body.count), size)
        let count = bytes(UInt64(entries.count), isBigTIFF ? 8 : 2)
        return Data(header + body + count + directory + bytes(nextDirectory ?? 0, size))
    }
}
