internal import CWebImageGtk4
import Foundation
import GtkWebImage
import WebImageTesting

/// An image of 50 megapixels that consists of the bundled images, each tinted as the place in one of them that it stands for. It is
/// drawn once, in bands, and kept in the cache folder of the user.
struct Mosaic: Sendable {
    /// The number of tiles and the side of one, in pixels.
    private static let grid = PixelSize(width: 64, height: 48)
    private static let side = 128
    private static let whole = "balloons.jpg"

    private let names: [String]
    private let folder: String

    /// - Parameters:
    ///   - names: The names of the images.
    ///   - folder: Where they are.
    init(of names: [String], in folder: String) {
        (self.names, self.folder) = (names, folder)
    }

    /// Draws the image in the background, unless it is there, and returns its address.
    @MainActor
    func prepare(_ done: @escaping @MainActor @Sendable (URL?) -> Void) {
        DispatchQueue.global(qos: .utility).async {
            let url = try? file()
            Task { @MainActor in done(url) }
        }
    }

    private func file() throws -> URL {
        let cache = URL(filePath: String(cString: g_get_user_cache_dir())).appending(path: AppInfo.identifier)
        let url = cache.appending(path: "mosaic-1.jpg")
        guard !FileManager.default.fileExists(atPath: url.path(percentEncoded: false)) else { return url }
        try FileManager.default.createDirectory(at: cache, withIntermediateDirectories: true)
        let (grid, side) = (Self.grid, Self.side)
        var mosaic = BandedJPEG(
            size: PixelSize(width: grid.width * side, height: grid.height * side),
            bandHeight: side
        )
        let tiles = try names.map { try surface($0, .cover(PixelSize(width: side, height: side))) }
        defer { for tile in tiles { cairo_surface_destroy(tile) } }
        let whole = try image(names.contains(Self.whole) ? Self.whole : names[0], .stretch(grid)).pixels
        for row in 0..<grid.height {
            let band = cairo_image_surface_create(CAIRO_FORMAT_RGB24, Int32(grid.width * side), Int32(side))!
            defer { cairo_surface_destroy(band) }
            let context = cairo_create(band)!
            for column in 0..<grid.width {
                // Neighbours differ.
                let tile = tiles[(column * 7 + row * 11) % tiles.count]
                let offset = row * whole.bytesPerRow + column * 4
                let color = whole.withUnsafeBytes { bytes in (0..<3).map { Double(bytes[offset + $0]) / 255 } }
                cairo_rectangle(context, Double(column * side), 0, Double(side), Double(side))
                cairo_set_source_surface(context, tile, Double(column * side), 0)
                cairo_fill_preserve(context)
                // Cairo has blue first in memory, and the library red.
                cairo_set_source_rgba(context, color[2], color[1], color[0], 0.6)
                cairo_fill(context)
            }
            cairo_destroy(context)
            cairo_surface_flush(band)
            let rows = PixelRows(
                start: UnsafeRawPointer(cairo_image_surface_get_data(band)),
                size: PixelSize(width: grid.width * side, height: side),
                bytesPerRow: Int(cairo_image_surface_get_stride(band)),
                layout: .rgbx
            )
            guard let image = PixelBuffer(rows, orientation: .up).map({ WebImage(pixels: $0) }),
                mosaic.append(try image.data(as: .jpeg))
            else { throw CocoaError(.fileWriteUnknown) }
        }
        try mosaic.data.write(to: url, options: .atomic)
        return url
    }

    private func image(_ name: String, _ size: DecodeSize) throws -> WebImage {
        var options = DecodeOptions(size: size)
        options.pixelFormat = .rgbaPremultiplied
        return try WebImage(data: Data(contentsOf: URL(filePath: "\(folder)/\(name)")), options: options)
    }

    private func surface(_ name: String, _ size: DecodeSize) throws -> OpaquePointer {
        let pixels = try image(name, size).pixels
        let surface = cairo_image_surface_create(
            CAIRO_FORMAT_ARGB32,
            Int32(pixels.size.width),
            Int32(pixels.size.height)
        )!
        let stride = Int(cairo_image_surface_get_stride(surface))
        pixels.withUnsafeBytes { bytes in
            for row in 0..<pixels.size.height {
                let start = bytes.baseAddress! + row * pixels.bytesPerRow
                memcpy(cairo_image_surface_get_data(surface) + row * stride, start, pixels.size.width * 4)
            }
        }
        cairo_surface_mark_dirty(surface)
        return surface
    }
}
