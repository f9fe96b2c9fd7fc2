/// What is done to a decoded image before it is cached in memory and shown: steps, one after the other.
///
///     picture.setImage(with: url, transformer: .resize(to: size, .cover) + .rounded(12))
///
/// Sizes and rectangles are in pixels of the decoded image; radii and the widths of borders are in application
/// pixels. Animated images are changed frame by frame, each when it is decoded. Loads of one URL that begin with the
/// same steps share them.
public struct ImageTransformer: Hashable, Sendable {
    /// The steps, in order.
    public let steps: [any ImageTransforming]
    /// The keys of the steps.
    public let key: String

    /// Transformers are equal when their keys are.
    public static func == (lhs: ImageTransformer, rhs: ImageTransformer) -> Bool { lhs.key == rhs.key }

    /// Hashes the key.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(key)
    }

    /// Makes a transformer of steps.
    public init(_ steps: [any ImageTransforming]) {
        self.steps = steps
        key = steps.map(\.key).joined(separator: " ")
    }

    /// Makes a transformer of one step.
    public init(_ step: any ImageTransforming) {
        self.init([step])
    }

    /// The steps of one transformer, then those of the other.
    public static func + (lhs: ImageTransformer, rhs: ImageTransformer) -> ImageTransformer {
        ImageTransformer(lhs.steps + rhs.steps)
    }

    /// Changes an image, with all of its frames. Takes its time: not for the main thread.
    /// - Returns: `nil` when a step cannot be done.
    public func transform(_ image: WebImage) -> WebImage? {
        steps.reduce(image) { image, step in image.flatMap { Self.apply(step, to: $0) } }
    }

    /// Applies one step to an image and, later, to its frames.
    static func apply(_ step: any ImageTransforming, to image: WebImage) -> WebImage? {
        guard let changed = step.transform(image) else { return nil }
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
    /// Makes the image another size, in pixels; larger, too. Its shape is kept or not as `mode` says.
    public static func resize(to size: PixelSize, _ mode: ResizeMode = .contain) -> ImageTransformer {
        ImageTransformer(ResizeStep(size: size, mode: mode))
    }

    /// Leaves a rectangle of the image, in pixels from the top left; what of it lies outside is left out.
    public static func crop(x: Int, y: Int, width: Int, height: Int) -> ImageTransformer {
        ImageTransformer(CropStep(rect: PixelRect(x: x, y: y, width: width, height: height)))
    }

    /// Rounds corners.
    /// - Parameters:
    ///   - radius: In application pixels; at most half of the smaller side.
    ///   - corners: Which. Default: all.
    ///   - border: A line along the edge. Default: none.
    public static func rounded(
        _ radius: Double,
        corners: ImageCorners = .all,
        border: ImageBorder? = nil
    ) -> ImageTransformer {
        ImageTransformer(RoundedStep(shape: .corners(radius, corners), border: border))
    }

    /// Leaves the largest circle in the middle of the image.
    /// - Parameter border: A line along the edge. Default: none.
    public static func circle(border: ImageBorder? = nil) -> ImageTransformer {
        ImageTransformer([CropStep(rect: nil), RoundedStep(shape: .circle, border: border)])
    }

    /// Turns the image clockwise.
    /// - Parameters:
    ///   - degrees: By how much. Quarters are exact.
    ///   - growsToFit: Whether the image becomes as large as it has to; if not, corners are cut off. Default: yes.
    public static func rotate(degrees: Double, growsToFit: Bool = true) -> ImageTransformer {
        ImageTransformer(RotateStep(degrees: degrees, growsToFit: growsToFit))
    }

    /// Mirrors the image.
    public static func flip(horizontally: Bool = false, vertically: Bool = false) -> ImageTransformer {
        ImageTransformer(FlipStep(isHorizontal: horizontally, isVertical: vertically))
    }

    /// Gives all that is opaque one colour: icons.
    /// - Parameter color: With alpha, the image shows through.
    public static func tint(_ color: ImageColor) -> ImageTransformer {
        ImageTransformer(TintStep(color: color))
    }

    /// Blurs the image, as a Gaussian does.
    /// - Parameter radius: Its standard deviation, in application pixels.
    public static func blur(_ radius: Double) -> ImageTransformer {
        ImageTransformer(BlurStep(radius: radius))
    }

    /// Adds to all colours: -1 is black, 1 is white.
    public static func brightness(_ amount: Double) -> ImageTransformer {
        ImageTransformer(ColorStep.brightness(amount))
    }

    /// Spreads colours from the middle: 0 is grey, 1 is the image itself.
    public static func contrast(_ amount: Double) -> ImageTransformer { ImageTransformer(ColorStep.contrast(amount)) }

    /// Makes colours paler or stronger: 0 is grey, 1 is the image itself.
    public static func saturation(_ amount: Double) -> ImageTransformer {
        ImageTransformer(ColorStep.saturation(amount))
    }

    /// Without colours, as bright as before (ITU-R BT.709).
    public static var grayscale: ImageTransformer { ImageTransformer(ColorStep.saturation(0)) }

    /// In the browns of an old photograph.
    public static var sepia: ImageTransformer { ImageTransformer(ColorStep.sepia) }

    /// Whatever a closure does.
    /// - Parameters:
    ///   - key: Names what it does, with all that this depends on.
    ///   - body: On the decode queue; `nil` ends the load in ``ImageError/Code/transformFailed``.
    public static func custom(key: String, _ body: @escaping @Sendable (WebImage) -> WebImage?) -> ImageTransformer {
        ImageTransformer(CustomStep(key: key, body: body))
    }
}

/// A closure with a name.
private struct CustomStep: ImageTransforming {
    let key: String
    let body: @Sendable (WebImage) -> WebImage?

    func transform(_ image: WebImage) -> WebImage? { body(image) }
}

/// Changes a decoded image before it is cached in memory and shown: one step of an ImageTransformer. Runs on the
/// decode queue, several at a time.
public protocol ImageTransforming: Sendable {
    /// Names the step with its parameters: two with equal keys do the same to every image.
    var key: String { get }

    /// The changed image. Partial images come through here too, and each frame of an animated image as an image
    /// of its own when it is about to be shown.
    /// - Returns: nil when it cannot be done, which ends the load in ImageError/Code/transformFailed.
    func transform(_ image: WebImage) -> WebImage?
}

/// A step that makes pixels of pixels.
protocol PixelTransforming: ImageTransforming {
    /// Whether the image keeps the size that it is shown at when nothing else decides.
    var keepsNaturalSize: Bool { get }

    /// - Parameter scale: Pixels per application pixel where the image is shown.
    /// - Returns: nil when there is no memory, or nothing of the image is left.
    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer?
}

extension PixelTransforming {
    var keepsNaturalSize: Bool { true }

    func transform(_ image: WebImage) -> WebImage? {
        apply(to: image.pixels, scale: image.displayScale)
            .map { image.replacingPixels($0, keepsNaturalSize: keepsNaturalSize) }
    }
}
