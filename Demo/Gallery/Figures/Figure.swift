internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

/// An image of the documentation, beside the description of what it shows. `Demo/screenshots` has the gallery make all of them.
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

    /// The figures with what they need from the server of the bundled images.
    static func all(_ context: PageContext) async throws -> [Figure] {
        let manager = ImageManager.shared
        let dunes = try await manager.image(for: context.fresh(FigureStudio.image))
        let small = context.fresh(FigureStudio.image, .small)
        let butterfly = try await manager.image(for: thumbnail(context.fresh("butterfly.png"), side: 84))
        let mushroom = try await manager.image(for: thumbnail(context.fresh("mushroom.webp"), side: 48))
        let texture = butterfly.makeTexture()
        defer { g_object_unref(UnsafeMutableRawPointer(texture)) }
        return transitions + indicators + fits + transformers(overlay: mushroom) + [
            Figure(
                name: "placeholder-icon",
                subject: .placeholder(.icon("image-x-generic-symbolic", size: 48)),
                followsStyle: true
            ),
            Figure(name: "placeholder-color", subject: .placeholder(.color(ImageColor(0xB3988A)))),
            Figure(name: "placeholder-blurhash", subject: .placeholder(BlurHash(of: dunes).flatMap { .blurHash($0) })),
            Figure(
                name: "placeholder-thumbhash",
                subject: .placeholder(ThumbHash(of: dunes).flatMap { .thumbHash($0) })
            ),
            Figure(name: "placeholder-image", subject: .placeholder(.image(try await manager.image(for: small)))),
            Figure(name: "placeholder-url", subject: .placeholder(.url(context.fresh(FigureStudio.image, .small)))),
            Figure(
                name: "placeholder-paintable",
                subject: .placeholder(.paintable(texture)),
                followsStyle: true
            ),
        ]
    }

    /// A request for an image that fits into a square of so many pixels.
    static func thumbnail(_ url: URL, side: Int) -> ImageRequest {
        ImageRequest(url: url, decodeSize: .contain(PixelSize(width: side, height: side)))
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
