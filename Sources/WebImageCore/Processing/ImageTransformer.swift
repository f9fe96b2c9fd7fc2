/// The steps that change a decoded image, in order, before it is cached in memory and shown.
///
///     picture.setImage(with: ImageRequest(url: url, transformer: .resize(to: size, mode: .cover) + .rounded(12)))
///
/// The figures of the transformers show what they make of this image:
///
/// ![A woman in an orange space suit](transformer-original)
///
/// Sizes and rectangles are in pixels of the decoded image; radii and the widths of borders are in application
/// pixels. Animated images are changed frame by frame, each when it is decoded. Loads of one URL that begin with the
/// same steps share them.
public struct ImageTransformer: Hashable, Sendable {
    /// The steps, in order.
    package let steps: [any ImageTransforming]
    /// The keys of all steps in order, those of the app marked as such. It is part of the key under which the caches keep the image.
    public let key: String

    /// Transformers are equal when their keys are.
    public static func == (lhs: ImageTransformer, rhs: ImageTransformer) -> Bool { lhs.key == rhs.key }

    /// Hashes the key.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(key)
    }

    /// Makes a transformer that applies steps in order.
    package init(_ steps: [any ImageTransforming]) {
        self.steps = steps
        key = steps.map(\.distinctKey).joined(separator: " ")
    }

    /// Makes a transformer that applies one step.
    package init(_ step: any ImageTransforming) {
        self.init([step])
    }

    /// Returns a transformer that applies the steps of the first, then those of the second.
    public static func + (lhs: ImageTransformer, rhs: ImageTransformer) -> ImageTransformer {
        ImageTransformer(lhs.steps + rhs.steps)
    }

    /// Changes an image with all of its frames. Do not call it on the main thread.
    /// - Returns: `nil` when a step fails.
    public func transform(_ image: WebImage) -> WebImage? {
        steps.reduce(image) { image, step in image.flatMap { Self.apply(step, to: $0) } }
    }

    /// Applies one step to an image and, later, to its frames.
    static func apply(_ step: any ImageTransforming, to image: WebImage) -> WebImage? {
        guard let result = step.transform(image) else { return nil }
        let changed = step is any PixelTransforming ? result : result.completed(from: image)
        guard let animation = image.animation, changed.animation == nil else { return changed }
        return changed.with { content in
            content.animation = animation.mapFrames(size: changed.pixelSize, hasAlpha: changed.pixels.hasAlpha) {
                frame in
                let picture = image.with { content in
                    content.pixels = frame
                    content.animation = nil
                }
                return step.transform(picture)?.pixels
            }
        }
    }
}

extension ImageTransformer {
    /// Resizes the image to a size in pixels, which may be larger than the image. A size of more than 134,217,728 pixels
    /// (2^27) and more than the image has fails with ``ImageError/Code/transformFailed``.
    ///
    /// ![The image, smaller](transformer-resize-contain)
    ///
    ///     let avatar = ImageTransformer.resize(to: size, mode: .cover, focus: ImagePoint(x: 0.5, y: 0.2))
    ///
    /// - Parameters:
    ///   - size: The width and the height in pixels.
    ///   - mode: How the image is made to fit. Default: it is scaled to fit inside.
    ///   - focus: With ``ImageTransformer/ResizeMode/cover``, the point of the image that stays as near to the middle as its edges allow.
    ///     Default: the middle.
    public static func resize(
        to size: PixelSize,
        mode: ImageTransformer.ResizeMode = .contain,
        focus: ImagePoint = .center
    ) -> ImageTransformer {
        ImageTransformer(ResizeStep(size: size, mode: mode, focus: focus))
    }

    /// Crops the image to a size in pixels, without scaling it. A side that is shorter stays as it is.
    ///
    /// ![The face, cut out of the image](transformer-crop)
    ///
    /// - Parameters:
    ///   - size: The width and the height in pixels.
    ///   - focus: The point of the image that stays as near to the middle as its edges allow. Default: the middle.
    public static func crop(to size: PixelSize, focus: ImagePoint = .center) -> ImageTransformer {
        ImageTransformer(FocusedCropStep(size: size, focus: focus))
    }

    /// Crops the image to a rectangle in pixels from the top left. The part of it outside of the image is ignored.
    ///
    /// ![A tall strip of the image](transformer-crop-rectangle)
    public static func crop(to rect: PixelRect) -> ImageTransformer {
        ImageTransformer(CropStep(rect: rect))
    }

    /// Rounds corners.
    ///
    /// ![The image with rounded corners](transformer-rounded)
    ///
    /// - Parameters:
    ///   - radius: The radius in application pixels, at most half of the smaller side.
    ///   - corners: The corners to round. Default: all.
    ///   - border: A line along the edge. Default: none.
    public static func rounded(
        _ radius: Double,
        corners: ImageCorners = .all,
        border: ImageBorder? = nil
    ) -> ImageTransformer {
        ImageTransformer(RoundedStep(shape: .corners(radius, corners), border: border))
    }

    /// Crops the image to the largest circle. As the first step it has the image decoded so that the circle fills the box of a
    /// ``DecodeSize/contain(_:)``, or the widget.
    ///
    /// ![The image in a circle with a blue border](transformer-circle)
    ///
    /// - Parameters:
    ///   - border: A line along the edge. Default: none.
    ///   - focus: The point of the image that stays as near to the middle as its edges allow. Default: the middle.
    public static func circle(border: ImageBorder? = nil, focus: ImagePoint = .center) -> ImageTransformer {
        ImageTransformer([SquareStep(focus: focus), RoundedStep(shape: .circle, border: border)])
    }

    /// Rotates the image clockwise.
    ///
    /// ![The image, rotated by 15 degrees](transformer-rotate)
    ///
    /// - Parameters:
    ///   - degrees: The angle. Quarter turns are exact.
    ///   - growsToFit: Whether the image grows to show all of itself; otherwise its corners are cut off. Default: true.
    public static func rotate(degrees: Double, growsToFit: Bool = true) -> ImageTransformer {
        ImageTransformer(RotateStep(degrees: degrees, growsToFit: growsToFit))
    }

    /// Mirrors the image.
    ///
    /// ![The image, mirrored](transformer-flip)
    public static func flip(horizontally: Bool = false, vertically: Bool = false) -> ImageTransformer {
        ImageTransformer(FlipStep(isHorizontal: horizontally, isVertical: vertically))
    }

    /// Lays a color over the image: by default over everything opaque, as for symbolic icons.
    ///
    /// ![The image under a half-transparent blue](transformer-tint)
    ///
    /// - Parameters:
    ///   - color: The color. With alpha, the image shows through.
    ///   - blendMode: How color and image are combined. Default: the color covers what is opaque.
    public static func tint(_ color: ImageColor, blendMode: ImageTransformer.BlendMode = .sourceAtop)
        -> ImageTransformer
    {
        ImageTransformer(TintStep(color: color, mode: blendMode))
    }

    /// Lays another image over the image, such as a watermark or a mask.
    ///
    /// ![The image with a mushroom in its lower right corner](transformer-overlay)
    ///
    ///     let marked = ImageTransformer.overlay(logo, key: "logo 2", at: .bottomRight)
    ///
    /// - Parameters:
    ///   - overlay: The other image; of an animated one, the first frame.
    ///   - key: A name for the overlay, which is another one for every other overlay.
    ///   - place: Where the overlay is, at its own size in application pixels: at an edge, in the middle, or in between. What is
    ///     beyond the edges of the image is cut off. Default: `nil`, which stretches the overlay to the whole image.
    ///   - blendMode: How overlay and image are combined. Default: the overlay covers the image.
    public static func overlay(
        _ overlay: WebImage,
        key: String,
        at place: ImagePoint? = nil,
        blendMode: ImageTransformer.BlendMode = .sourceOver
    ) -> ImageTransformer {
        ImageTransformer(OverlayStep(overlay: overlay, name: key, place: place, mode: blendMode))
    }

    /// Applies a Gaussian blur.
    ///
    /// ![The image, blurred](transformer-blur)
    ///
    /// - Parameter radius: The standard deviation in application pixels.
    public static func blur(_ radius: Double) -> ImageTransformer {
        ImageTransformer(BlurStep(radius: radius))
    }

    /// Adds an amount to every color: -1 makes black, 1 makes white.
    ///
    /// ![The image, brighter](transformer-brightness)
    public static func brightness(_ amount: Double) -> ImageTransformer {
        ImageTransformer(ColorStep.brightness(amount))
    }

    /// Changes the contrast: 0 makes gray, 1 leaves the image as it is.
    ///
    /// ![The image with more contrast](transformer-contrast)
    public static func contrast(_ amount: Double) -> ImageTransformer { ImageTransformer(ColorStep.contrast(amount)) }

    /// Changes the saturation: 0 makes grays, 1 leaves the image as it is.
    ///
    /// ![The image in stronger colors](transformer-saturation)
    public static func saturation(_ amount: Double) -> ImageTransformer {
        ImageTransformer(ColorStep.saturation(amount))
    }

    /// Removes colors and keeps the brightness (ITU-R BT.709).
    ///
    /// ![The image in grays](transformer-grayscale)
    public static var grayscale: ImageTransformer { ImageTransformer(ColorStep.saturation(0)) }

    /// Turns each color into its complement, as on a negative.
    ///
    /// ![The image as a negative](transformer-inverted)
    public static var inverted: ImageTransformer { ImageTransformer(ColorStep.inversion) }

    /// Turns the hue of every color and keeps its luminance, as the CSS filter `hue-rotate`.
    ///
    /// ![The image with green for orange](transformer-hue-rotation)
    ///
    /// - Parameter degrees: The angle on the circle of colors, from red to green to blue.
    public static func hueRotation(degrees: Double) -> ImageTransformer {
        ImageTransformer(ColorStep.hueRotation(degrees: degrees))
    }

    /// Raises every channel, from 0 to 1, to a power: less than 1 brightens the middle tones, more darkens them. Black and white
    /// stay as they are.
    ///
    /// ![The image with brighter middle tones](transformer-gamma)
    public static func gamma(_ exponent: Double) -> ImageTransformer { ImageTransformer(GammaStep(exponent: exponent)) }

    /// Gives the image the browns of an old photograph.
    ///
    /// ![The image in browns](transformer-sepia)
    public static var sepia: ImageTransformer { ImageTransformer(ColorStep.sepia) }

    /// Applies a closure. It is called with the image, with partial images, and with each frame of an animated image shortly before
    /// the frame is shown.
    ///
    /// An image that is made of new pixels (``WebImage/init(pixels:naturalSize:scale:format:isPartial:animation:)``) keeps the scale
    /// and the format of the one before and, if it has as many pixels, its natural size.
    /// - Parameters:
    ///   - key: A name for what the closure does. It includes every value on which the result depends: closures with equal keys do the
    ///     same to every image.
    ///   - body: The closure. Several threads of the decode queue call it at a time. A result of `nil` fails the load with
    ///     ``ImageError/Code/transformFailed``.
    public static func custom(key: String, _ body: @escaping @Sendable (WebImage) -> WebImage?) -> ImageTransformer {
        ImageTransformer(CustomStep(key: key, body: body))
    }
}

extension WebImage {
    /// Adds what a step of an app has left out, which knows the pixels and not how the image is shown.
    fileprivate func completed(from source: WebImage) -> WebImage {
        guard storage !== source.storage else { return self }
        return with { content in
            if content.scale == 1 { content.scale = source.scale }
            if content.format == .unknown { content.format = source.format }
            content.displayScale = source.content.displayScale
            content.isPartial = content.isPartial || source.isPartial
            content.isPreview = content.isPreview || source.content.isPreview
            guard content.naturalSize == pixelSize, pixelSize == source.pixelSize else { return }
            content.naturalSize = source.naturalSize
            content.sourceSize = source.content.sourceSize
            content.decodedSize = source.content.decodedSize
        }
    }
}

/// A step that applies a closure.
private struct CustomStep: ImageTransforming {
    let key: String
    let body: @Sendable (WebImage) -> WebImage?

    func transform(_ image: WebImage) -> WebImage? { body(image) }
}

/// One step of an ImageTransformer, which changes a decoded image before it is cached in memory and shown. Several
/// threads of the decode queue call it at a time.
package protocol ImageTransforming: Sendable {
    /// A name for the step and its parameters. Steps with equal keys do the same to every image.
    var key: String { get }

    /// Returns the changed image. It is also called with partial images, and with each frame of an animated image
    /// shortly before the frame is shown. An image that is made of new pixels (``WebImage/init(pixels:naturalSize:scale:format:isPartial:animation:)``)
    /// keeps the scale and the format of the one before and, if it has as many pixels, its natural size.
    /// - Returns: `nil` when the step fails, which fails the load with ``ImageError/Code/transformFailed``.
    func transform(_ image: WebImage) -> WebImage?
}

extension ImageTransforming {
    /// The key of the step among any others. The library's own steps are known by theirs; one of the app may have any text, such as
    /// the key of another step or of several.
    var distinctKey: String { self is any PixelTransforming ? key : "custom(\(key.utf8.count):\(key))" }
}

/// A step of the library, which changes the pixels of each frame.
protocol PixelTransforming: ImageTransforming {
    /// Whether the image keeps its natural size.
    var keepsNaturalSize: Bool { get }

    /// Returns the changed pixels of one frame.
    /// - Parameter scale: The number of pixels per application pixel where the image is shown.
    /// - Returns: `nil` when memory runs out, or when nothing of the image is left.
    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer?
}

extension PixelTransforming {
    var keepsNaturalSize: Bool { true }

    func transform(_ image: WebImage) -> WebImage? {
        apply(to: image.pixels, scale: image.displayScale)
            .map { image.replacingPixels($0, keepsNaturalSize: keepsNaturalSize) }
    }
}
