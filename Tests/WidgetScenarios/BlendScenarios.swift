internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import TestSupport

/// The operator of cairo for a blend mode; both follow the same specification.
private func cairoOperator(_ mode: ImageTransformer.BlendMode) -> cairo_operator_t {
    switch mode {
    case .sourceOver: CAIRO_OPERATOR_OVER
    case .sourceAtop: CAIRO_OPERATOR_ATOP
    case .multiply: CAIRO_OPERATOR_MULTIPLY
    case .screen: CAIRO_OPERATOR_SCREEN
    case .overlay: CAIRO_OPERATOR_OVERLAY
    case .darken: CAIRO_OPERATOR_DARKEN
    case .lighten: CAIRO_OPERATOR_LIGHTEN
    case .softLight: CAIRO_OPERATOR_SOFT_LIGHT
    }
}

/// A pixel with red and blue exchanged, as cairo has them in memory.
private func exchanged(_ pixel: UInt32) -> UInt32 {
    pixel & 0xFF00_FF00 | (pixel & 255) << 16 | pixel >> 16 & 255
}

/// What cairo makes of one image over another.
@MainActor
private func blendedByCairo(_ top: [UInt32], over under: [UInt32], width: Int, _ mode: ImageTransformer.BlendMode)
    -> [UInt32]
{
    func surface(_ pixels: [UInt32]) -> OpaquePointer {
        let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, Int32(width), Int32(pixels.count / width))!
        cairo_surface_flush(surface)
        cairo_image_surface_get_data(surface)!.withMemoryRebound(to: UInt32.self, capacity: pixels.count) { target in
            for (index, pixel) in pixels.enumerated() { target[index] = exchanged(pixel) }
        }
        cairo_surface_mark_dirty(surface)
        return surface
    }
    let (source, target) = (surface(top), surface(under))
    let context = cairo_create(target)!
    defer {
        cairo_destroy(context)
        cairo_surface_destroy(source)
        cairo_surface_destroy(target)
    }
    cairo_set_operator(context, cairoOperator(mode))
    cairo_set_source_surface(context, source, 0, 0)
    cairo_paint(context)
    cairo_surface_flush(target)
    return cairo_image_surface_get_data(target)!.withMemoryRebound(to: UInt32.self, capacity: under.count) { pixels in
        (0..<under.count).map { exchanged(pixels[$0]) }
    }
}

extension Scenario {
    static let blending: [Scenario] = [
        Scenario("Every blend mode gives the pixels of cairo, which GTK draws with") {
            // Given two images of pixels at random, each in every alpha
            var random = SeededGenerator(seed: 3)
            func pixels() -> [UInt32] {
                (0..<256 * 64).map { index in
                    let alpha = UInt32(index & 255)
                    var pixel = alpha << 24
                    for shift: UInt32 in [0, 8, 16] { pixel |= UInt32.random(in: 0...alpha, using: &random) << shift }
                    return pixel
                }
            }
            let (top, under) = (pixels().shuffled(using: &random), pixels())
            func image(_ pixels: [UInt32]) throws -> WebImage {
                let size = PixelSize(width: 256, height: 64)
                let buffer = PixelBuffer(size: size, format: .rgbaPremultiplied) { memory in
                    memory.copyBytes(from: pixels.withUnsafeBytes { Array($0) })
                }
                return WebImage(pixels: try require(buffer))
            }
            let (source, backdrop) = (try image(top), try image(under))
            for mode in ImageTransformer.BlendMode.allCases {
                let blended = ImageTransformer.overlay(source, key: "random", blendMode: mode).transform(backdrop)
                let ours = try require(try require(blended).pixels.converted(to: .rgbaPremultiplied))
                let theirs = blendedByCairo(top, over: under, width: 256, mode)
                var worst = 0
                ours.withUnsafeBytes { bytes in
                    for (mine, other) in zip(bytes.bindMemory(to: UInt32.self), theirs) {
                        for shift: UInt32 in [0, 8, 16, 24] {
                            worst = max(worst, abs(Int(mine >> shift & 255) - Int(other >> shift & 255)))
                        }
                    }
                }
                // pixman rounds in between.
                expect(worst <= 2, "\(mode) differs by \(worst)")
            }
        }
    ]
}
