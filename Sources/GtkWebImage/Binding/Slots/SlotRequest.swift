import FoundationEssentials
import WebImageCore

/// What a caller wants a slot to show.
struct SlotRequest {
    /// nil when the widget is to be cleared.
    var image: ImageRequest?
    var placeholder: Placeholder?
    var options: ImageOptions
    var manager: ImageManager
    /// All images, when there are several; then image is the first one.
    var sequence: ImageSequence?
    var progress: (@MainActor @Sendable (Int64, Int64?) -> Void)?
    var partial: (@MainActor @Sendable (WebImage) -> Void)?

    init(
        _ url: URL?,
        _ placeholder: Placeholder?,
        _ options: ImageOptions,
        _ transformer: ImageTransformer?,
        _ manager: ImageManager
    ) {
        image = url.map { ImageRequest(url: $0, options: options, transformer: transformer) }
        self.placeholder = placeholder
        self.options = options
        self.manager = manager
    }

    init(_ request: ImageRequest, _ placeholder: Placeholder?, _ manager: ImageManager) {
        image = request
        self.placeholder = placeholder
        options = request.options
        self.manager = manager
    }

    var url: URL? { image?.url }

    /// Whether it asks for the same image; placeholder and handlers do not count.
    func wantsSame(as other: SlotRequest) -> Bool {
        guard manager === other.manager, sequence == other.sequence else { return false }
        return switch (image, other.image) {
        case (let image?, let other?): image.isEquivalent(as: other)
        case (nil, nil): options == other.options
        default: false
        }
    }
}
