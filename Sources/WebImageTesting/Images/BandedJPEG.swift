package import FoundationEssentials
package import WebImageCore

/// Makes a JPEG of many megapixels from separately encoded bands, so that its pixels are never all in memory.
///
/// The bands become restart intervals of one scan (ITU-T T.81, section B.2.4.4), where predictions start again as in a separate
/// file.
package struct BandedJPEG {
    private let size: PixelSize
    private let bandHeight: Int
    private var file = Data()
    private var bandCount = 0

    /// - Parameters:
    ///   - size: The size of the whole image.
    ///   - bandHeight: The height of each band, a multiple of 16. The last band may be lower.
    package init(size: PixelSize, bandHeight: Int = 256) {
        (self.size, self.bandHeight) = (size, bandHeight)
    }

    /// Adds the next band: a baseline JPEG of the whole width, with the same quality as the others.
    /// - Returns: `false` if the file is not such a JPEG.
    package mutating func append(_ band: Data) -> Bool {
        let band = [UInt8](band)
        var (offset, head, frame) = (2, Array(band.prefix(2)), 0)
        while offset + 4 <= band.count, band[offset] == 0xFF {
            let (marker, length) = (band[offset + 1], Int(band[offset + 2]) << 8 | Int(band[offset + 3]))
            guard length >= 2, offset + 2 + length <= band.count else { return false }
            let segment = band[offset..<offset + 2 + length]
            offset += segment.count
            if marker == 0xC0 { frame = head.count }
            if marker == 0xDA {
                guard frame > 0, band.count >= offset + 2 else { return false }
                if bandCount == 0 {
                    let interval = interval(head[(frame + 9)...])
                    head.replaceSubrange(
                        frame + 5..<frame + 7,
                        with: [UInt8(size.height >> 8), UInt8(size.height & 255)]
                    )
                    let restart: [UInt8] = [0xFF, 0xDD, 0, 4, UInt8(interval >> 8 & 255), UInt8(interval & 255)]
                    file = Data(head + restart + segment)
                } else {
                    file += [0xFF, 0xD0 + UInt8((bandCount - 1) % 8)]
                }
                file += band[offset..<band.count - 2]
                bandCount += 1
                return true
            }
            head += segment
        }
        return false
    }

    /// The number of blocks in a band, from the channels of a frame header.
    private func interval(_ channels: ArraySlice<UInt8>) -> Int {
        let count = Int(channels.first ?? 0)
        let factors = (0..<count).map { channels[channels.startIndex + 2 + $0 * 3] }
        let width = 8 * Int(factors.map { $0 >> 4 }.max() ?? 1)
        let height = 8 * Int(factors.map { $0 & 15 }.max() ?? 1)
        return (size.width + width - 1) / width * (bandHeight / height)
    }

    /// The file of the bands so far.
    package var data: Data { file + [0xFF, 0xD9] }
}
