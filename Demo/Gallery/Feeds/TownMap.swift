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
            Task { @MainActor in done(url) }
        }
    }

    private static func file() throws -> URL {
        let folder = URL(filePath: String(cString: g_get_user_cache_dir())).appending(path: AppInfo.identifier)
        let url = folder.appending(path: "town-map-1.jpg")
        guard !FileManager.default.fileExists(atPath: url.path(percentEncoded: false)) else { return url }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var map = BandedJPEG(size: size, bandHeight: bandHeight)
        var options = EncodeOptions()
        options.quality = 0.85
        for top in stride(from: 0, to: size.height, by: bandHeight) {
            guard let band = drawBand(top), map.append(try band.data(as: .jpeg, options: options)) else {
                throw CocoaError(.fileWriteUnknown)
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
        Town(context: context).draw(rows: top / block...(top + bandHeight - 1) / block, width: size.width)
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

    /// Draws the houses of the town, which are always the same.
    private struct Town {
        let context: OpaquePointer

        func draw(rows: ClosedRange<Int>, width: Int) {
            // Streets.
            set(ImageColor(0xEDE8DE))
            cairo_paint(context)
            cairo_select_font_face(context, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL)
            for row in rows {
                for column in 0..<width / TownMap.block { drawBlock(column, row) }
            }
            drawRiver()
        }

        private func drawBlock(_ column: Int, _ row: Int) {
            var random = Chance(column: column, row: row)
            let (left, top) = (Double(column * TownMap.block), Double(row * TownMap.block))
            cairo_save(context)
            cairo_translate(context, left, top)
            let isPark = random.next() < 0.12
            set(isPark ? ImageColor(0xAAD29E) : ImageColor(0xDAD8CC))
            fill(x: 6, y: 6, width: 116, height: 116)
            if isPark {
                for _ in 0..<30 {
                    set(hue: 0.3, random.next())
                    cairo_arc(context, 12 + random.next() * 104, 12 + random.next() * 104, 4, 0, 2 * .pi)
                    cairo_fill(context)
                }
            } else {
                for house in 0..<9 {
                    let (x, y) = (Double(10 + house % 3 * 37), Double(10 + house / 3 * 36))
                    set(hue: Double(column) / 64, random.next())
                    fill(x: x, y: y, width: 22 + 12 * random.next(), height: 20 + 10 * random.next())
                    // It can be read at 100 %.
                    write("\(house + 1 + (column * 31 + row * 17) % 90)", x: x + 3, y: y + 13)
                }
            }
            write("\(column + 1) / \(row + 1)", x: 12, y: 125)
            cairo_restore(context)
        }

        private func drawRiver() {
            set(ImageColor(0x8CB8E0))
            cairo_set_line_width(context, 170)
            cairo_move_to(context, -200, 4600)
            cairo_curve_to(context, 2600, 1800, 3900, 6200, 8400, 1300)
            cairo_stroke(context)
        }

        private func fill(x: Double, y: Double, width: Double, height: Double) {
            cairo_rectangle(context, x, y, width, height)
            cairo_fill(context)
        }

        private func write(_ text: String, x: Double, y: Double) {
            set(ImageColor(0x333340))
            cairo_set_font_size(context, 9)
            cairo_move_to(context, x, y)
            cairo_show_text(context, text)
        }

        private func set(hue: Double, _ chance: Double) {
            // Cairo has blue first in memory, and the library red.
            cairo_set_source_rgb(context, 0.35 + 0.4 * hue, 0.7 - 0.3 * hue + 0.2 * chance, 0.5 + 0.4 * chance)
        }

        private func set(_ color: ImageColor) {
            func channel(_ shift: UInt32) -> Double { Double(color.rgba >> shift & 255) / 255 }
            cairo_set_source_rgb(context, channel(8), channel(16), channel(24))
        }
    }

    /// Numbers from 0 to 1 that are always the same for a block (SplitMix64).
    private struct Chance {
        private var state: UInt64

        init(column: Int, row: Int) { state = UInt64(column) << 32 | UInt64(row) }

        mutating func next() -> Double {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
            return Double((value ^ value >> 31) >> 40) / Double(1 << 24)
        }
    }
}
