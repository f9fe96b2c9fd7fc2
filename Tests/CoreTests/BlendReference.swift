import Foundation
import WebImageCore

/// Compositing and Blending Level 1, formula by formula, with colours that are not multiplied by alpha and in Double.
enum Reference {
    static func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }

    /// Whether all results of a mode are fractions of 255, of which none is half way between two levels.
    static func isExact(_ mode: BlendMode) -> Bool {
        switch mode {
        case .colorDodge, .colorBurn, .softLight, .hue, .saturation, .color, .luminosity: false
        default: true
        }
    }

    static func pixel(_ top: UInt32, over under: UInt32, _ mode: BlendMode) -> UInt32 {
        let (source, backdrop) = (Color(top), Color(under))
        let (s, b) = (source.alpha, backdrop.alpha)
        // Section 9.1.4: the fractions of source and backdrop.
        let fractions: (Double, Double)? =
            switch mode {
            case .clear: (0, 0)
            case .copy: (1, 0)
            case .sourceOver: (1, 1 - s)
            case .destinationOver: (1 - b, 1)
            case .sourceIn: (b, 0)
            case .destinationIn: (0, s)
            case .sourceOut: (1 - b, 0)
            case .destinationOut: (0, 1 - s)
            case .sourceAtop: (b, 1 - s)
            case .destinationAtop: (1 - b, s)
            case .xor: (1 - b, 1 - s)
            case .plusLighter: (1, 1)
            default: nil
            }
        var channels: [Double] = []
        if let (f, g) = fractions {
            channels = (0..<3).map { source[$0] * s * f + backdrop[$0] * b * g } + [s * f + b * g]
        } else {
            // Section 10: source-over with mixed colours.
            let mixed = blend(backdrop.channels, source.channels, mode)
            channels = (0..<3).map {
                source[$0] * s * (1 - b) + backdrop[$0] * b * (1 - s) + s * b * mixed[$0]
            }
            channels.append(s + b - s * b)
        }
        return channels.enumerated().reduce(0) { pixel, channel in
            pixel | UInt32((min(max(channel.element, 0), 1) * 255).rounded()) << (channel.offset * 8)
        }
    }

    private struct Color {
        let channels: [Double]
        let alpha: Double

        init(_ pixel: UInt32) {
            let alpha = Double(pixel >> 24)
            self.alpha = alpha / 255
            channels = [0, 8, 16].map { alpha == 0 ? 0 : Double(pixel >> $0 & 255) / alpha }
        }

        subscript(channel: Int) -> Double { channels[channel] }
    }

    private static func blend(_ b: [Double], _ s: [Double], _ mode: BlendMode) -> [Double] {
        switch mode {
        case .hue: setLum(setSat(s, sat(b)), lum(b))
        case .saturation: setLum(setSat(b, sat(s)), lum(b))
        case .color: setLum(s, lum(b))
        case .luminosity: setLum(b, lum(s))
        default: (0..<3).map { channel(b[$0], s[$0], mode) }
        }
    }

    private static func channel(_ b: Double, _ s: Double, _ mode: BlendMode) -> Double {
        switch mode {
        case .multiply: b * s
        case .screen: b + s - b * s
        case .overlay: channel(s, b, .hardLight)
        case .darken: min(b, s)
        case .lighten: max(b, s)
        case .colorDodge: b == 0 ? 0 : s == 1 ? 1 : min(1, b / (1 - s))
        case .colorBurn: b == 1 ? 1 : s == 0 ? 0 : 1 - min(1, (1 - b) / s)
        case .hardLight: s <= 0.5 ? b * 2 * s : channel(b, 2 * s - 1, .screen)
        case .softLight:
            if s <= 0.5 {
                b - (1 - 2 * s) * b * (1 - b)
            } else {
                b + (2 * s - 1) * ((b <= 0.25 ? ((16 * b - 12) * b + 4) * b : b.squareRoot()) - b)
            }
        case .difference: abs(b - s)
        case .exclusion: b + s - 2 * b * s
        default: preconditionFailure("\(mode) does not mix by channel")
        }
    }

    private static func lum(_ c: [Double]) -> Double { 0.3 * c[0] + 0.59 * c[1] + 0.11 * c[2] }

    private static func sat(_ c: [Double]) -> Double { c.max()! - c.min()! }

    private static func setLum(_ c: [Double], _ l: Double) -> [Double] {
        var c = c.map { $0 + l - lum(c) }
        let (l, n, x) = (lum(c), c.min()!, c.max()!)
        if n < 0 { c = c.map { l + ($0 - l) * l / (l - n) } }
        if x > 1 { c = c.map { l + ($0 - l) * (1 - l) / (x - l) } }
        return c
    }

    private static func setSat(_ c: [Double], _ s: Double) -> [Double] {
        let (least, most) = (c.min()!, c.max()!)
        return c.map { most > least ? ($0 - least) * s / (most - least) : 0 }
    }
}
