internal import CWebImageGtk4
import Foundation
import GtkWebImage
import WebImageTesting

/// A map of 50 megapixels with more detail the nearer one looks. It is drawn once, in bands, and kept in the cache folder of the user.
enum TownMap {
    private static let size = PixelSize(width: 8192, height: 6144)
    private static let bandHeight = 256
    /// The side of a block of houses, with half of the streets around it.
    private static let block = 128

    /// Draws the map in the background, unless it is there, and returns its address.
    @MainActor
    static func prepare(_ done: @escaping @MainActor @Sendable (URL?) -> Void) {
        DispatchQueue.global(qos: .utility).async {
            let url = try? file()
            DispatchQueue.main.async { done(url) }
        }
    }

    private static func file() throws -> URL {
        let caches = try FileManager.default.url(
            for: .cachesDirectory,
            in: .userDomainMask,
            appropriateFor: nil,
            create: true
        )
        let folder = caches.appending(path: AppInfo.identifier)
        let url = folder.appending(path: "town-map-1.jpg")
        guard !FileManager.default.fileExists(atPath: url.path()) else { return url }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var map = BandedJPEG(size: size, bandHeight: bandHeight)
        var options = EncodeOptions()
        options.quality = 0.85
        for top in stride(from: 0, to: size.height, by: bandHeight) {
            guard let band = drawBand(top), map.append(try band.data(as: .jpeg, options: options)) else {
                throw ImageError.cancelled(url)
            }
        }
        try map.data.write(to: url, options: .atomic)
        return url
    }

    private static func drawBand(_ top: Int) -> WebImage? {
        let (width, height) = (Int32(size.width), Int32(bandHeight))
        guard let surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height) else { return nil }
        defer { cairo_surface_destroy(surface) }
        guard let context = cairo_create(surface) else { return nil }
        cairo_translate(context, 0, -Double(top))
        draw(context, rows: top / block...(top + bandHeight - 1) / block)
        cairo_destroy(context)
        cairo_surface_flush(surface)
        guard let pixels = cairo_image_surface_get_data(surface) else { return nil }
        let rows = PixelRows(
            start: UnsafeRawPointer(pixels),
            size: PixelSize(width: size.width, height: bandHeight),
            bytesPerRow: Int(cairo_image_surface_get_stride(surface)),
            layout: .rgbx
        )
        return PixelBuffer(rows, orientation: .up).map { WebImage(pixels: $0) }
    }

    private static func draw(_ context: OpaquePointer, rows: ClosedRange<Int>) {
        // Streets.
        set(context, 0.93, 0.91, 0.87)
        cairo_paint(context)
        cairo_select_font_face(context, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL)
        for row in rows {
            for column in 0..<size.width / block { drawBlock(context, column, row) }
        }
        drawRiver(context)
    }

    private static func drawBlock(_ context: OpaquePointer, _ column: Int, _ row: Int) {
        let (left, top) = (Double(column * block), Double(row * block))
        let chance = chance(column, row, 0)
        if chance < 0.12 {
            set(context, 0.66 + chance, 0.82, 0.62)
            rectangle(context, left + 6, top + 6, 116, 116)
            for tree in 1...30 {
                set(context, 0.35, 0.55 + 0.3 * Self.chance(column, row, tree), 0.33)
                let (x, y) = (Self.chance(column, row, tree + 40) * 104, Self.chance(column, row, tree + 80) * 104)
                cairo_arc(context, left + 12 + x, top + 12 + y, 4, 0, 2 * .pi)
                cairo_fill(context)
            }
        } else {
            set(context, 0.86, 0.87 - 0.1 * chance, 0.8)
            rectangle(context, left + 6, top + 6, 116, 116)
            for house in 0..<9 { drawHouse(context, column, row, house) }
        }
        text(context, "\(column + 1) / \(row + 1)", left + 12, top + 124, size: 8)
    }

    private static func drawHouse(_ context: OpaquePointer, _ column: Int, _ row: Int, _ house: Int) {
        let x = Double(column * block + 10 + house % 3 * 37)
        let y = Double(row * block + 10 + house / 3 * 36)
        let hue = chance(column, row, house + 1)
        let warmth = Double(column) / Double(size.width / block)
        set(context, 0.55 + 0.35 * hue, 0.45 + 0.25 * (1 - hue), 0.35 + 0.4 * warmth)
        rectangle(context, x, y, 22 + 12 * chance(column, row, house + 20), 20 + 10 * hue)
        // A house number that can be read at 100 %.
        text(context, "\(house + 1 + (column * 31 + row * 17) % 90)", x + 3, y + 13, size: 9)
    }

    private static func drawRiver(_ context: OpaquePointer) {
        set(context, 0.55, 0.72, 0.88)
        cairo_set_line_width(context, 170)
        cairo_move_to(context, -200, 4600)
        cairo_curve_to(context, 2600, 1800, 3900, 6200, 8400, 1300)
        cairo_stroke(context)
    }

    private static func rectangle(_ context: OpaquePointer, _ x: Double, _ y: Double, _ width: Double, _ height: Double)
    {
        cairo_rectangle(context, x, y, width, height)
        cairo_fill(context)
    }

    private static func text(_ context: OpaquePointer, _ text: String, _ x: Double, _ y: Double, size: Double) {
        set(context, 0.2, 0.2, 0.25)
        cairo_set_font_size(context, size)
        cairo_move_to(context, x, y)
        cairo_show_text(context, text)
    }

    /// Cairo has blue first in memory, and the library red.
    private static func set(_ context: OpaquePointer, _ red: Double, _ green: Double, _ blue: Double) {
        cairo_set_source_rgb(context, blue, green, red)
    }

    /// A number from 0 to 1 that is always the same for a place.
    private static func chance(_ column: Int, _ row: Int, _ serial: Int) -> Double {
        var value = UInt64(column) &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(row) &* 0xBF58_476D_1CE4_E5B9 &+ UInt64(serial)
        value = (value ^ value >> 30) &* 0x94D0_49BB_1331_11EB
        return Double((value ^ value >> 31) >> 40) / Double(1 << 24)
    }
}
