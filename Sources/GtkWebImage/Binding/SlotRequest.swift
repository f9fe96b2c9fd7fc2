import FoundationEssentials
import WebImageCore

/// What a caller wants a slot to show.
struct SlotRequest {
    var url: URL?
    var placeholder: Placeholder?
    var options: ImageOptions
    var transformer: ImageTransformer?
    var manager: ImageManager
    var progress: (@MainActor @Sendable (Int64, Int64?) -> Void)?
    var partial: (@MainActor @Sendable (WebImage) -> Void)?

    init(
        _ url: URL?,
        _ placeholder: Placeholder?,
        _ options: ImageOptions,
        _ transformer: ImageTransformer?,
        _ manager: ImageManager
    ) {
        self.url = url
        self.placeholder = placeholder
        self.options = options
        self.transformer = transformer
        self.manager = manager
    }

    /// Whether it asks for the same picture; placeholder and handlers do not count.
    func wantsSame(as other: SlotRequest) -> Bool {
        url == other.url && options == other.options && transformer?.key == other.transformer?.key
            && manager === other.manager
    }
}
