/// How an image is made to fit another size.
public enum ResizeMode: String, Sendable {
    /// The whole image at the largest size that fits inside, with its aspect ratio. One side may be shorter.
    case contain
    /// Exactly that size, with the aspect ratio of the image. Whatever exceeds it is cut off evenly on two sides.
    case cover
    /// Exactly that size, without regard to the aspect ratio.
    case stretch
    /// The whole image in the middle of exactly that size, on a transparent background.
    case letterbox
}
