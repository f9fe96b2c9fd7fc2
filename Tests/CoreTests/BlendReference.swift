import Foundation
import WebImageCore

/// Compositing and Blending Level 1, formula by formula, with colours that are not multiplied by alpha and in Double.
enum Reference {
    static func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }

    /// Whether all results of a mode are fractions of 255, of which none is half way between two levels.
    static func isExact(_ mode: ImageTransformer.BlendMode) -> Bool { mode != .softLight }

    static func pixel(_ top: UInt32, over under: UInt32, _ mode: ImageTransformer.BlendMode) -> UInt32 {
        let (source, backdrop) = (Color(top), Color(under))
        let (s, b) = (source.alpha, backdrop.alpha)
        // Section 9.1.4: the fractions of source and backdrop.
        let fractions: (Double, Double)? =
            switch mode {
            case .sourceOver: (1, 1 - s)
            case .sourceAtop: (b, 1 - s)
            default: nil
            }
        var channels: [Double] = []
        if let (f, g) = fractions {
            channels = (0..<3).map { source[$0] * s * f + backdrop[$0] * b * g } + [s * f + b * g]
        } else {
            // Section 10: source-over with mixed colours.
            let mixed = (0..<3).map { channel(backdrop[$0], source[$0], mode) }
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

    private static func channel(_ b: Double, _ s: Double, _ mode: ImageTransformer.BlendMode) -> Double {
        switch mode {
        case .multiply: b * s
        case .screen: b + s - b * s
        case .overlay: b <= 0.5 ? s * 2 * b : channel(s, 2 * b - 1, .screen)
        case .darken: min(b, s)
        case .lighten: max(b, s)
        case .softLight:
            if s <= 0.5 {
                b - (1 - 2 * s) * b * (1 - b)
            } else {
                b + (2 * s - 1) * ((b <= 0.25 ? ((16 * b - 12) * b + 4) * b : b.squareRoot()) - b)
            }
        default: preconditionFailure("\(mode) does not mix by channel")
        }
    }
}
