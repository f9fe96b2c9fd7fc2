internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import TestSupport

/// An image of the documentation, beside the description of what it shows. `Demo/screenshots` makes all of them.
@MainActor
struct Figure {
    enum Subject {
        case transformer(ImageTransformer?)
        case fit(ImageContentFit)
        case placeholder(ImagePlaceholder?)
        case indicator(ImageIndicator)
        case transition(ImageTransition)
    }

    /// The name of the file without its extension. A test finds it in the documentation.
    let name: String
    let subject: Subject
    /// Whether the figure has the colours of the style, so that the documentation needs it both light and dark.
    var followsStyle = false

    /// All figures.
    static func all() throws -> [Figure] {
        let dunes = try thumbnail(FigureStudio.image, side: 128)
        let small = try thumbnail(FigureStudio.image, side: 24).data(as: .jpeg).base64EncodedString()
        let texture = try thumbnail("butterfly.png", side: 84).makeTexture()
        defer { g_object_unref(UnsafeMutableRawPointer(texture)) }
        let placeholders: [(name: String, placeholder: ImagePlaceholder?, followsStyle: Bool)] = [
            ("icon", .icon("image-x-generic-symbolic", size: 48), true),
            ("color", .color(ImageColor(0xB3988A)), false),
            ("blurhash", BlurHash(of: dunes).flatMap { .blurHash($0) }, false),
            ("thumbhash", ThumbHash(of: dunes).flatMap { .thumbHash($0) }, false),
            ("image", .image(try thumbnail(FigureStudio.image, side: 24)), false),
            ("url", URL(string: "data:image/jpeg;base64,\(small)").map { .url($0) }, false),
            ("paintable", .paintable(texture), true),
        ]
        return transitions + indicators + fits + transformers(overlay: try thumbnail("mushroom.webp", side: 48))
            + placeholders.map {
                Figure(name: "placeholder-\($0)", subject: .placeholder($1), followsStyle: $2)
            }
    }

    /// An image of the gallery, as large as fits into a square of so many pixels.
    private static func thumbnail(_ name: String, side: Int) throws -> WebImage {
        let size = PixelSize(width: side, height: side)
        return try WebImage(data: ShippedImage.data(name), options: DecodeOptions(size: .contain(size)))
    }

    private static var transitions: [Figure] {
        // Longer than by default, for the eye to follow.
        let duration = FigureStudio.transitionDuration
        return [
            Figure(name: "transition-crossfade", subject: .transition(.crossfade(duration: duration))),
            Figure(name: "transition-slide", subject: .transition(.slide(duration: duration))),
            Figure(
                name: "transition-push",
                subject: .transition(.slide(pushesOutgoing: true, duration: duration))
            ),
            Figure(name: "transition-uncover", subject: .transition(.uncover(duration: duration))),
            Figure(name: "transition-flip", subject: .transition(.flip(duration: duration))),
            Figure(name: "transition-zoom", subject: .transition(.zoom(duration: duration))),
        ]
    }

    private static var indicators: [Figure] {
        [
            Figure(name: "indicator-activity", subject: .indicator(.activity)),
            Figure(name: "indicator-progress", subject: .indicator(.progress)),
            Figure(name: "indicator-bar", subject: .indicator(.bar)),
        ]
    }

    private static var fits: [Figure] {
        [
            Figure(name: "fit-stretch", subject: .fit(.stretch)),
            Figure(name: "fit-contain", subject: .fit(.contain)),
            Figure(name: "fit-cover", subject: .fit(.cover)),
            Figure(name: "fit-scale-down", subject: .fit(.scaleDown)),
        ]
    }

    private static func transformers(overlay: WebImage) -> [Figure] {
        let flat = PixelSize(width: 96, height: 48)
        let border = ImageBorder(width: 2, color: ImageColor(0x3584E4))
        // Of two results that look the same, one has more transparent pixels.
        let outline = ImageTransformer.rounded(0, border: border)
        let transformers: [(String, ImageTransformer?)] = [
            ("original", nil),
            ("resize-contain", .resize(to: flat) + outline),
            ("resize-cover", .resize(to: flat, mode: .cover) + outline),
            ("resize-stretch", .resize(to: flat, mode: .stretch) + outline),
            ("resize-letterbox", .resize(to: flat, mode: .letterbox) + outline),
            ("crop", .crop(to: PixelSize(width: 64, height: 64), focus: ImagePoint(x: 0.45, y: 0.2))),
            ("crop-rectangle", .crop(to: PixelRect(x: 72, y: 8, width: 32, height: 88))),
            ("rounded", .rounded(20)),
            ("circle", .circle(border: border)),
            ("rotate", .rotate(degrees: 15)),
            ("flip", .flip(horizontally: true)),
            ("tint", .tint(ImageColor(0x3584E4, alpha: 0.5))),
            ("overlay", .overlay(overlay, key: "mushroom", at: .bottomRight)),
            ("blur", .blur(4)),
            ("brightness", .brightness(0.25)),
            ("contrast", .contrast(1.6)),
            ("saturation", .saturation(2)),
            ("grayscale", .grayscale),
            ("inverted", .inverted),
            ("hue-rotation", .hueRotation(degrees: 120)),
            ("gamma", .gamma(0.5)),
            ("sepia", .sepia),
        ]
        return transformers.map { Figure(name: "transformer-\($0)", subject: .transformer($1)) }
    }
}
