/// What can be shown before the image. Each gives way to those after it, and a partial image to the next one.
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
