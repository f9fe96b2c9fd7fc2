internal import CWebImageGtk4
internal import CWebImageGtkShims
import GtkWebImage
import WebImageCore
import WebImageLinux

/// The GdkPaintable of a ``ZoomView``. It has no intrinsic size, so GtkPicture lets it fill the widget.
@MainActor
enum ZoomPaintable {
    static func make() -> OpaquePointer { gwi_paintable_new(table) }

    /// Gives the paintable its only reference to the content. Called once.
    static func connect(_ native: OpaquePointer, to content: ZoomContent) {
        gwi_paintable_set_context(native, Unmanaged.passRetained(content).toOpaque())
    }

    /// The table is allocated once and never freed, like a class structure.
    private static let table: UnsafePointer<GwiPaintableFunctions> = {
        let table = UnsafeMutablePointer<GwiPaintableFunctions>.allocate(capacity: 1)
        table.initialize(
            to: GwiPaintableFunctions(
                snapshot: { context, snapshot, width, height in
                    let address = UInt(bitPattern: snapshot)
                    let content = Unmanaged<ZoomContent>.fromOpaque(context!).takeUnretainedValue()
                    MainActor.assumeIsolated {
                        MainThreadMeter.measure {
                            content.draw(OpaquePointer(bitPattern: address)!, width: width, height: height)
                        }
                    }
                },
                current_image: { _ in gdk_paintable_new_empty(0, 0) },
                width: { _ in 0 },
                height: { _ in 0 },
                aspect_ratio: { _ in 0 },
                release: { context in Unmanaged<ZoomContent>.fromOpaque(context!).release() }
            )
        )
        return UnsafePointer(table)
    }()
}

extension ZoomContent {
    /// Draws the best available image of each visible tile: the tile, part of a coarser tile, or part of the small image.
    func draw(_ snapshot: OpaquePointer, width: Double, height: Double) {
        guard let widget = widget.pointer, width > 0, height > 0 else { return }
        let scale = gwi_widget_get_scale(widget)
        resize(to: ZoomViewport.Point(x: width * scale, y: height * scale))
        requestTiles()
        guard let viewport, let base else { return }
        let whole = PixelRect(x: 0, y: 0, width: viewport.imageSize.width, height: viewport.imageSize.height)
        let grid = viewport.grid
        guard grid.reduction < base.reduction else {
            return append(base.texture, showing: whole, scale: scale, to: snapshot)
        }
        for tile in grid.tiles(covering: viewport.visibleRect) {
            let part = grid.original(grid.rect(of: tile))
            if let texture = tiles.use(TileCache.Key(reduction: grid.reduction, tile: tile)) {
                append(texture, showing: part, scale: scale, to: snapshot)
                continue
            }
            var bounds = bounds(of: part, scale)
            gtk_snapshot_push_clip(snapshot, &bounds)
            if let (texture, around) = coarserTile(around: tile, of: grid, below: base.reduction) {
                append(texture, showing: around, scale: scale, to: snapshot)
            } else {
                append(base.texture, showing: whole, scale: scale, to: snapshot)
            }
            gtk_snapshot_pop(snapshot)
        }
    }

    /// A coarser tile that contains a tile, and the part of the image that it shows.
    private func coarserTile(
        around tile: TileGrid.Tile,
        of grid: TileGrid,
        below limit: Int
    ) -> (Texture, PixelRect)? {
        var (reduction, tile) = (grid.reduction * 2, tile)
        while reduction < limit {
            tile = TileGrid.Tile(column: tile.column / 2, row: tile.row / 2)
            if let texture = tiles.use(TileCache.Key(reduction: reduction, tile: tile)) {
                let coarser = TileGrid(imageSize: grid.imageSize, reduction: reduction)
                return (texture, coarser.original(coarser.rect(of: tile)))
            }
            reduction *= 2
        }
        return nil
    }

    private func append(_ texture: Texture, showing part: PixelRect, scale: Double, to snapshot: OpaquePointer) {
        var bounds = bounds(of: part, scale)
        gtk_snapshot_append_texture(snapshot, texture.pointer, &bounds)
    }

    /// The position of a part of the image in the widget. Edges are rounded to device pixels, so that neighbors share them without
    /// a seam.
    private func bounds(of part: PixelRect, _ scale: Double) -> graphene_rect_t {
        guard let viewport else { return graphene_rect_t() }
        let origin = viewport.origin
        func edge(_ start: Double, _ position: Int) -> Double {
            (start + Double(position) * viewport.zoom).rounded() / scale
        }
        let (left, top) = (edge(origin.x, part.x), edge(origin.y, part.y))
        let right = edge(origin.x, part.x + part.size.width)
        let bottom = edge(origin.y, part.y + part.size.height)
        return graphene_rect_t(
            origin: graphene_point_t(x: Float(left), y: Float(top)),
            size: graphene_size_t(width: Float(right - left), height: Float(bottom - top))
        )
    }
}
