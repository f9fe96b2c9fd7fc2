import WebImageCore
import WebImageLinux

/// The request of a caller of a binding.
struct BindingRequest {
    /// The image; `nil` if the caller passed none.
    var image: ImageRequest?
    var placeholder: ImagePlaceholder?
    var options: BindingOptions
    /// The images of an animation, of which ``image`` is the first.
    var sequence: ImageSequence?
    var progress: (@MainActor @Sendable (Int64, Int64?) -> Void)?
    var partial: (@MainActor @Sendable (WebImage) -> Void)?

    /// The same request without handlers.
    var withoutHandlers: BindingRequest {
        var result = self
        (result.progress, result.partial) = (nil, nil)
        return result
    }

    /// Whether both ask for the same image, regardless of how they use the caches.
    func isReload(of other: BindingRequest) -> Bool {
        var same = self
        same.image?.cachePolicy = other.image?.cachePolicy ?? .standard
        return same.isEquivalent(to: other)
    }

    /// Whether both ask for the same image in the same way. Placeholders, handlers and the manager do not count.
    func isEquivalent(to other: BindingRequest) -> Bool {
        guard options == other.options else { return false }
        return switch (sequence, other.sequence, image, other.image) {
        case (let sequence?, let other?, _, _): sequence.isEquivalent(to: other)
        case (nil, nil, let image?, let other?): image.isEquivalent(to: other)
        case (nil, nil, nil, nil): true
        default: false
        }
    }
}
