/// What can be shown before the image. Each case is replaced by later cases, and a partial image by the next partial image.
enum ImagePreview: Int {
    case none
    /// The ThumbHash of the image.
    case hash
    /// The thumbnail in the file.
    case thumbnail
    /// The image of the preview URL.
    case other
    /// Part of the image, or the image as it is cached.
    case partial
}
