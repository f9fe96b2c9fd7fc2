/// How a colour or an image is laid over an image: the modes of Compositing and Blending Level 1 (W3C), in sRGB.
///
/// What is laid over is called the source, and what it covers the backdrop.
public enum BlendMode: String, Sendable, CaseIterable {
    // How the two shapes combine (section 9).

    /// Neither is visible.
    case clear
    /// Only the source is visible.
    case copy
    /// The source over the backdrop. This is what "normal" means in drawing programs.
    case sourceOver
    /// The source under the backdrop, where that is transparent.
    case destinationOver
    /// The source where the backdrop is opaque, and nothing of the backdrop.
    case sourceIn
    /// The backdrop where the source is opaque: the source is a mask.
    case destinationIn
    /// The source where the backdrop is transparent.
    case sourceOut
    /// The backdrop where the source is transparent: the source cuts a hole.
    case destinationOut
    /// The source over the backdrop, only where that is opaque.
    case sourceAtop
    /// The source where it is opaque, and in its shape the backdrop over it.
    case destinationAtop
    /// Each where the other is transparent.
    case xor
    /// The sum of both.
    case plusLighter

    // How the colours of both mix where they overlap. Elsewhere the source is over the backdrop (section 10.1).

    /// The product: at least as dark as both.
    case multiply
    /// The product of the complements: at least as light as both.
    case screen
    /// Multiplies the dark parts of the backdrop and screens its light ones.
    case overlay
    /// The darker of both, by channel.
    case darken
    /// The lighter of both, by channel.
    case lighten
    /// Brightens the backdrop to reflect the source.
    case colorDodge
    /// Darkens the backdrop to reflect the source.
    case colorBurn
    /// Multiplies where the source is dark and screens where it is light.
    case hardLight
    /// Darkens or lightens like a diffuse light of the colour of the source.
    case softLight
    /// The difference of both.
    case difference
    /// The difference with less contrast.
    case exclusion

    // How the hue, the saturation and the luminosity of both combine (section 10.2).

    /// The hue of the source, the rest of the backdrop.
    case hue
    /// The saturation of the source, the rest of the backdrop.
    case saturation
    /// The hue and the saturation of the source, the luminosity of the backdrop.
    case color
    /// The luminosity of the source, the rest of the backdrop.
    case luminosity
}

extension BlendMode {
    /// Whether an opaque backdrop stays opaque, whatever is laid over it.
    var keepsOpacity: Bool {
        switch self {
        case .clear, .copy, .sourceIn, .destinationIn, .sourceOut, .destinationOut, .destinationAtop, .xor: false
        default: true
        }
    }

    /// Whether the backdrop is gone where the source is transparent.
    var clearsOutside: Bool {
        switch self {
        case .clear, .copy, .sourceIn, .destinationIn, .sourceOut, .destinationAtop: true
        default: false
        }
    }
}
