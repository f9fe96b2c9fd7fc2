internal import CWebImageGtk4
import WebImageCore

/// The colors of stages and sources, visible on light and dark backgrounds. Each view also states their meaning in text.
enum Palette {
    static func color(of stage: LoadStage) -> GdkRGBA { color(value(of: stage)) }

    /// The color as 0xRRGGBB.
    static func value(of stage: LoadStage) -> UInt32 {
        switch stage {
        case .memory: 0x2EC27E
        case .disk: 0xE5A50A
        case .waiting: 0x99C1F1
        case .transfer: 0x3584E4
        case .decode: 0xC061CB
        case .transform: 0xFF7800
        case .shown: 0x986A44
        }
    }

    static let failure = color(0xE01B24)
    static let slowFrame = color(0xFF7800)
    static let highlight: UInt32 = 0xF66151

    /// The background color of a badge, for white text.
    static func badge(of line: LoadLine) -> UInt32 {
        switch line.state {
        case .delivered(.memory): 0x1B6B45
        case .delivered(.disk): 0x865E05
        case .delivered: 0x1A5FB4
        case .failed: 0xA51D2D
        case .running, .cancelled: 0x3D3846
        }
    }

    static let badgeText = color(0xFFFFFF)

    /// Makes a color from 0xRRGGBB.
    static func color(_ rgb: UInt32, alpha: Float = 1) -> GdkRGBA {
        func channel(_ shift: UInt32) -> Float { Float(rgb >> shift & 255) / 255 }
        return GdkRGBA(red: channel(16), green: channel(8), blue: channel(0), alpha: alpha)
    }
}
