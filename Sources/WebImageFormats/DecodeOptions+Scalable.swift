package import WebImageCore

extension DecodeOptions {
    /// The assumed natural size of a vector image that is fitted to a box. It is larger than any screen but within the pixel limit,
    /// so that no box makes the loader draw more. `nil` if the options have no box.
    package func scalableSize(_ natural: PixelSize) -> PixelSize? {
        guard !natural.isEmpty else { return nil }
        switch size {
        case .original, .within: return nil
        case .contain(let box), .cover(let box), .stretch(let box): if box.isEmpty { return nil }
        }
        let area = max(1, pixelLimit / natural.pixelCount)
        let factor = max(1, min(1 << 14 / max(natural.width, natural.height), Int(Double(area).squareRoot())))
        return PixelSize(width: natural.width * factor, height: natural.height * factor)
    }
}
