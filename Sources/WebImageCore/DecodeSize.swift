/// The size at which an image is decoded. Decoding does not enlarge images, except SVG and PDF that fit a box.
public enum DecodeSize: Hashable, Sendable {
    /// Every pixel of the file, regardless of the size of the widget.
    case original
    /// The largest size that fits inside the box, keeping the aspect ratio; what `GTK_CONTENT_FIT_CONTAIN` shows.
    case contain(PixelSize)
    /// The smallest size that covers the box, keeping the aspect ratio; what `GTK_CONTENT_FIT_COVER` shows.
    case cover(PixelSize)
    /// The box itself, regardless of the aspect ratio; what `GTK_CONTENT_FIT_FILL` shows.
    case stretch(PixelSize)
    /// The largest size, keeping the aspect ratio, whose pixels take at most that many bytes, at four bytes a pixel.
    /// Use it for huge images that need as much detail as fits.
    case within(byteCount: Int)

    /// The size in pixels at which an image of `natural` (upright) size is decoded, at least 1x1.
    public func target(for natural: PixelSize) -> PixelSize {
        guard !natural.isEmpty else { return natural }
        let box: PixelSize
        let pick: (Double, Double) -> Double
        switch self {
        case .original:
            return natural
        case .stretch(let size):
            guard !size.isEmpty else { return natural }
            return PixelSize(width: min(size.width, natural.width), height: min(size.height, natural.height))
        case .contain(let size):
            (box, pick) = (size, { min($0, $1) })
        case .cover(let size):
            (box, pick) = (size, { max($0, $1) })
        case .within(let byteCount):
            let count = max(byteCount / 4, 1)
            guard natural.pixelCount > count else { return natural }
            let width = (Double(count) * Double(natural.width) / Double(natural.height)).squareRoot()
            let height = width * Double(natural.height) / Double(natural.width)
            return PixelSize(
                width: min(max(1, Int(bounded: width)), natural.width, count),
                height: min(max(1, Int(bounded: height)), natural.height, count)
            )
        }
        guard !box.isEmpty else { return natural }
        let factor = pick(
            Double(box.width) / Double(natural.width),
            Double(box.height) / Double(natural.height)
        )
        guard factor < 1 else { return natural }
        return PixelSize(
            width: max(1, Int(bounded: (Double(natural.width) * factor).rounded())),
            height: max(1, Int(bounded: (Double(natural.height) * factor).rounded()))
        )
    }
}

extension DecodeSize {
    /// About how many pixels the longer side of an image may have.
    var longestSide: Int {
        switch self {
        case .original: .max
        case .contain(let box), .cover(let box), .stretch(let box): max(box.width, box.height)
        case .within(let byteCount): Int(bounded: Double(byteCount / 4).squareRoot())
        }
    }

    /// A text that tells sizes apart. Interpolating the size itself would print it by reflection, which is slow.
    var text: String {
        switch self {
        case .original: "original"
        case .contain(let box): "contain(\(box))"
        case .cover(let box): "cover(\(box))"
        case .stretch(let box): "stretch(\(box))"
        case .within(let byteCount): "within(byteCount: \(byteCount))"
        }
    }
}
