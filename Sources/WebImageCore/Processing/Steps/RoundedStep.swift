/// A line along the edge of an image.
public struct ImageBorder: Hashable, Sendable {
    /// The width in application pixels.
    let width: Double
    /// The color of the line.
    let color: ImageColor

    /// Creates a border that is drawn inside the edge of the image.
    public init(width: Double, color: ImageColor) {
        self.width = width
        self.color = color
    }
}

/// A set of corners of an image.
public struct ImageCorners: OptionSet, Hashable, Sendable {
    /// One bit for each corner. Use the constants.
    public let rawValue: UInt8

    /// Creates a set from bits. Use the constants.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The top left corner.
    public static let topLeft = ImageCorners(rawValue: 1)
    /// The top right corner.
    public static let topRight = ImageCorners(rawValue: 2)
    /// The bottom left corner.
    public static let bottomLeft = ImageCorners(rawValue: 4)
    /// The bottom right corner.
    public static let bottomRight = ImageCorners(rawValue: 8)
    /// All four corners.
    public static let all: ImageCorners = [.topLeft, .topRight, .bottomLeft, .bottomRight]
}

/// Rounds corners and draws a border. Edges are antialiased: a pixel partly inside keeps that share of its alpha.
struct RoundedStep: PixelTransforming {
    enum Shape: Sendable {
        /// Corners with a radius in application pixels.
        case corners(Double, ImageCorners)
        case circle
    }

    let shape: Shape
    let border: ImageBorder?

    var key: String {
        let line = border.map { ",\($0.width),\($0.color.rgba)" } ?? ""
        return switch shape {
        case .corners(let radius, let corners): "rounded(\(radius),\(corners.rawValue)\(line))"
        case .circle: "circle(\(line))"
        }
    }

    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer? {
        guard let source = pixels.converted(to: .rgbaPremultiplied) else { return nil }
        let (width, height) = (Double(source.size.width), Double(source.size.height))
        let half = min(width, height) / 2
        let (radius, corners): (Double, ImageCorners) =
            switch shape {
            case .circle: (half, .all)
            case .corners(let radius, let corners): ((radius * scale).bounded(to: 0...half, ifNaN: 0), corners)
            }
        let line = ((border?.width ?? 0) * scale).bounded(to: 0...half, ifNaN: 0)
        return PixelBuffer(size: source.size, format: .rgbaPremultiplied) { memory in
            memory.copyMemory(from: UnsafeRawBufferPointer(start: source.baseAddress, count: source.byteCount))
            let target = memory.bindMemory(to: UInt32.self).baseAddress!
            // Only pixels near the edge are computed individually.
            let margin = Int((max(radius, line) + 1).rounded(.up))
            for y in 0..<source.size.height {
                let row = target + y * source.size.width
                let isEdge = y < margin || y >= source.size.height - margin
                let inner = isEdge ? source.size.width : min(margin, source.size.width)
                func change(_ x: Int) {
                    let (px, py) = (Double(x) + 0.5, Double(y) + 0.5)
                    let distance = depth(px, py, width: width, height: height, radius: radius, corners: corners)
                    let inside = min(max(distance + 0.5, 0), 1)
                    var pixel = row[x]
                    if let border, line > 0 {
                        let covered = min(max(line - distance + 0.5, 0), 1)
                        pixel = border.color.pixel(coverage: covered).over(pixel)
                    }
                    row[x] = inside >= 1 ? pixel : pixel.scaled(by: inside)
                }
                for x in 0..<inner { change(x) }
                for x in max(inner, source.size.width - margin)..<source.size.width { change(x) }
            }
        }
    }

    /// The distance of a point from the edge; negative outside.
    private func depth(
        _ x: Double,
        _ y: Double,
        width: Double,
        height: Double,
        radius: Double,
        corners: ImageCorners
    ) -> Double {
        let (isLeft, isTop) = (x < width / 2, y < height / 2)
        let corner: ImageCorners = isTop ? (isLeft ? .topLeft : .topRight) : (isLeft ? .bottomLeft : .bottomRight)
        // The distances from the nearest sides.
        let (dx, dy) = (isLeft ? x : width - x, isTop ? y : height - y)
        guard corners.contains(corner), dx < radius, dy < radius else { return min(dx, dy) }
        let (fromX, fromY) = (radius - dx, radius - dy)
        return radius - (fromX * fromX + fromY * fromY).squareRoot()
    }
}
