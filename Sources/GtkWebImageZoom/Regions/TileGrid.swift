import WebImageCore

/// An image reduced by a power of two, and its division into tiles.
struct TileGrid: Hashable, Sendable {
    /// The size of the image in pixels.
    let imageSize: PixelSize
    /// The factor by which both sides are divided, rounding up.
    let reduction: Int

    init(imageSize: PixelSize, reduction: Int) {
        (self.imageSize, self.reduction) = (imageSize, reduction)
    }

    /// The grid with the largest reduction that still has all the detail visible at a scale, which is at most 1.
    init(size: PixelSize, scale: Double) {
        var reduction = 1
        while Double(reduction * 2) * scale <= 1, reduction < Self.largestReduction { reduction *= 2 }
        self.init(imageSize: size, reduction: reduction)
    }

    /// The size of the reduced image.
    var size: PixelSize { imageSize.divided(by: reduction) }

    /// The pixels of the reduced image that cover a rectangle of the image.
    func reduced(_ rect: PixelRect) -> PixelRect {
        let (left, top) = (rect.x / reduction, rect.y / reduction)
        return PixelRect(
            x: left,
            y: top,
            width: (rect.x + rect.size.width + reduction - 1) / reduction - left,
            height: (rect.y + rect.size.height + reduction - 1) / reduction - top
        )
    }

    /// The rectangle of the image that a rectangle of the reduced image covers.
    func original(_ rect: PixelRect) -> PixelRect { rect.multiplied(by: reduction, in: imageSize) }

    private static let largestReduction = 1 << 20

    // Tiles.

    /// The width and the height of a tile in pixels of the reduced image.
    static let tileSide = 512

    /// The position of a tile in its grid.
    struct Tile: Hashable, Sendable {
        let column: Int
        let row: Int

        init(column: Int, row: Int) { (self.column, self.row) = (column, row) }
    }

    /// The pixels of a tile in the reduced image.
    func rect(of tile: Tile) -> PixelRect {
        let side = Self.tileSide
        return PixelRect(
            x: tile.column * side,
            y: tile.row * side,
            width: min(side, size.width - tile.column * side),
            height: min(side, size.height - tile.row * side)
        )
    }

    /// The tiles that cover a rectangle of the image, row by row.
    func tiles(covering rect: PixelRect) -> [Tile] {
        guard let rect = rect.clipped(to: imageSize) else { return [] }
        let reduced = reduced(rect)
        let side = Self.tileSide
        let columns = reduced.x / side...(reduced.x + reduced.size.width - 1) / side
        let rows = reduced.y / side...(reduced.y + reduced.size.height - 1) / side
        return rows.flatMap { row in columns.map { Tile(column: $0, row: row) } }
    }

    /// The bounding rectangle of some tiles in the reduced image.
    func rect(around tiles: some Collection<Tile>) -> PixelRect {
        let rects = tiles.map(rect)
        let (left, top) = (rects.map(\.x).min() ?? 0, rects.map(\.y).min() ?? 0)
        let (right, bottom) = (rects.map { $0.x + $0.size.width }.max(), rects.map { $0.y + $0.size.height }.max())
        return PixelRect(x: left, y: top, width: (right ?? left) - left, height: (bottom ?? top) - top)
    }
}
