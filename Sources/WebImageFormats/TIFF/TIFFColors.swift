internal import CWebImageShims
import WebImageCore

/// Converts samples of 8 bits to red, green and blue, with the alpha of the file.
struct TIFFColors {
    private let layout: TIFFLayout
    /// The colors with three bytes each.
    private let palette: [UInt8]
    /// `nil` if the file has no CMYK profile.
    private let inks: InkConversion?

    init(_ header: gwi_tiff_header, _ layout: TIFFLayout, inks: InkConversion?) {
        self.layout = layout
        self.inks = inks
        guard layout.colors == .palette, let red = header.red, let green = header.green, let blue = header.blue else {
            palette = []
            return
        }
        let channels = [red, green, blue].map { UnsafeBufferPointer(start: $0, count: 1 << Int(header.bit_count)) }
        // Some programs write 8-bit instead of 16-bit values.
        let shift: UInt16 = channels.contains { $0.contains { $0 > 255 } } ? 8 : 0
        palette = channels[0].indices.flatMap { index in channels.map { UInt8($0[index] >> shift & 255) } }
    }

    /// - Parameters:
    ///   - samples: A row of samples.
    ///   - columns: The number of pixels.
    ///   - row: A row of pixels with three bytes each, or four with alpha.
    func convert(_ samples: [UInt8], _ columns: Int, into row: inout [UInt8]) {
        let (step, width) = (layout.samplesPerPixel, layout.bytesPerPixel)
        switch layout.colors {
        case .grey(let isInverted):
            let flip: UInt8 = isInverted ? 255 : 0
            for x in 0..<columns {
                let level = samples[x * step] ^ flip
                for channel in 0..<3 { row[x * width + channel] = level }
            }
        case .palette:
            for x in 0..<columns {
                let color = Int(samples[x * step]) * 3
                for channel in 0..<3 { row[x * width + channel] = palette[color + channel] }
            }
        case .rgb, .other:
            for x in 0..<columns {
                for channel in 0..<3 { row[x * width + channel] = samples[x * step + channel] }
            }
        case .lab:
            convertLab(samples, columns, into: &row)
        case .cmyk where inks != nil:
            convertInks(samples, columns, into: &row)
        case .cmyk:
            // The formula matches the JPEG decoder's.
            for x in 0..<columns {
                let white = 255 - UInt32(samples[x * step + 3])
                for channel in 0..<3 {
                    let light = (255 - UInt32(samples[x * step + channel])) * white / 255
                    row[x * width + channel] = UInt8(light)
                }
            }
        }
        addAlpha(samples, columns, to: &row)
    }

    private func convertInks(_ samples: [UInt8], _ columns: Int, into row: inout [UInt8]) {
        let (step, width) = (layout.samplesPerPixel, layout.bytesPerPixel)
        let packed = (0..<columns).flatMap { x in samples[x * step..<x * step + 4] }
        var colors = [UInt8](repeating: 0, count: columns * 3)
        inks?.convert(packed, into: &colors, count: columns)
        for x in 0..<columns {
            for channel in 0..<3 { row[x * width + channel] = colors[x * 3 + channel] }
        }
    }

    private func convertLab(_ samples: [UInt8], _ columns: Int, into row: inout [UInt8]) {
        let (step, width) = (layout.samplesPerPixel, layout.bytesPerPixel)
        // a* and b* are signed (TIFF 6.0, section 23).
        var packed = [UInt8](repeating: 0, count: columns * 3)
        for x in 0..<columns {
            packed[x * 3] = samples[x * step]
            for channel in 1..<3 { packed[x * 3 + channel] = samples[x * step + channel] ^ 0x80 }
        }
        var colors = packed
        LabConversion.shared?.convert(packed, into: &colors, count: columns)
        for x in 0..<columns {
            for channel in 0..<3 { row[x * width + channel] = colors[x * 3 + channel] }
        }
    }

    private func addAlpha(_ samples: [UInt8], _ columns: Int, to row: inout [UInt8]) {
        guard let position = layout.alphaIndex else { return }
        for x in 0..<columns {
            let alpha = samples[x * layout.samplesPerPixel + position]
            row[x * 4 + 3] = alpha
            guard layout.isPremultiplied else { continue }
            // A premultiplied color cannot exceed its alpha.
            for channel in 0..<3 { row[x * 4 + channel] = min(row[x * 4 + channel], alpha) }
        }
    }
}
