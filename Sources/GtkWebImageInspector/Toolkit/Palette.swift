internal import CWebImageGtk4
import WebImageCore

/// The colors of stages and sources, visible on light and dark backgrounds. Each view also states their meaning in text.
enum Palette {
    static func color(of stage: LoadStage) -> GdkRGBA {
        switch stage {
        case .memory: color(0x2EC27E)
        case .disk: color(0xE5A50A)
        case .waiting: color(0x99C1F1)
        case .transfer: color(0x3584E4)
        case .decode: color(0xC061CB)
        case .transform: color(0xFF7800)
        case .shown: color(0x986A44)
        }
    }

    static let failure = color(0xE01B24)
    static let limit = color(0xE01B24)
    static let frame = color(0x3584E4)
    static let slowFrame = color(0xFF7800)
    static let highlight = color(0xF66151)

    /// The background color of a badge, for white text.
    static func badge(of line: LoadLine) -> GdkRGBA {
        switch line.state {
        case .delivered(.memory): color(0x1B6B45)
        case .delivered(.disk): color(0x865E05)
        case .delivered: color(0x1A5FB4)
        case .failed: color(0xA51D2D)
        case .running, .cancelled: color(0x3D3846)
        }
    }

    static let badgeText = color(0xFFFFFF)

    /// Makes an opaque color from 0xRRGGBB.
    private static func color(_ rgb: UInt32) -> GdkRGBA {
        func channel(_ shift: UInt32) -> Float { Float(rgb >> shift & 255) / 255 }
        return GdkRGBA(red: channel(16), green: channel(8), blue: channel(0), alpha: 1)
    }
}
