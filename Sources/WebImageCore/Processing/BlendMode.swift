extension ImageTransformer {
    /// How a color or an image is laid over an image: modes of Compositing and Blending Level 1 (W3C), in sRGB.
    ///
    /// What is laid over is called the source, and what it covers the backdrop. These are the modes with which interfaces tint images
    /// and lay marks, shades and textures over them: two that cover, two each that darken and lighten, and two that keep the contrast of
    /// the backdrop. In all of them an opaque image stays opaque. If you need another mode, write it as a
    /// ``ImageTransformer/custom(key:_:)``.
    public enum BlendMode: Sendable, CaseIterable {
        /// The source over the backdrop. This is what "normal" means in drawing programs.
        case sourceOver
        /// The source over the backdrop, only where that is opaque.
        case sourceAtop

        // How the colors of both mix where they overlap. Elsewhere the source is over the backdrop (section 10.1).

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
        /// Darkens or lightens like a diffuse light of the color of the source.
        case softLight
    }
}
