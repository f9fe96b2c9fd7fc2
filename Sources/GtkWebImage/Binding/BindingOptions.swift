public import WebImageCore

/// How a bound widget treats a load, apart from what is loaded.
public struct BindingOptions: Hashable, Sendable {
    /// What the widget shows until it has the image.
    public enum WhileLoading: Hashable, Sendable {
        /// The placeholder, or nothing if there is none. The default.
        case placeholder
        /// The placeholder, or the current content if there is none.
        case placeholderOrCurrentImage
        /// The current content, until the first partial image of a progressive load or the image itself. The
        /// placeholder appears only if the load fails.
        case currentImage
    }

    /// How the image appears in the widget.
    public enum Display: Hashable, Sendable {
        /// At once if the image comes from memory, else as the transition of the widget says. The default.
        case automatic
        /// Always with the transition of the widget.
        case animated
        /// Not at all. Take the image from the completion and the partial handler.
        case manual
    }

    /// When the load starts.
    public enum Start: Hashable, Sendable {
        /// When the widget is mapped. The load continues if the widget is unmapped again. The default.
        case whenMapped
        /// When the widget is mapped. The load stops while the widget is unmapped, and its completion waits.
        case onlyWhileMapped
        /// At once, for widgets that are shown later.
        case immediately
    }

    /// What happens to the previous load of the widget.
    public enum PreviousLoad: Hashable, Sendable {
        /// It is cancelled. The default.
        case cancelled
        /// It runs to its end, for its completion and the caches, but the widget does not show its image. A load that
        /// waits for the widget to be mapped is cancelled.
        case finishes
    }

    /// What the widget shows until it has the image. Default: the placeholder.
    public var whileLoading: WhileLoading
    /// How the image appears in the widget. Default: automatically.
    public var display: Display
    /// Whether the completion waits for the transition. If another image cuts the transition short, the completion is
    /// called then, and the load has still succeeded. Default: no.
    public var awaitsTransition: Bool
    /// When the load starts. Default: when the widget is mapped.
    public var start: Start
    /// What happens to the previous load. Default: it is cancelled.
    public var previousLoad: PreviousLoad
    /// The point of the image that stays as near to the middle as its edges allow, if the widget crops the image, as
    /// ``ImageContentFit/cover``, the background of a button and an avatar do. Default: the middle.
    public var focus: ImagePoint

    /// Creates options. By default, the widget shows the placeholder at once, loads when it is mapped, and cancels its previous load.
    public init(
        whileLoading: WhileLoading = .placeholder,
        display: Display = .automatic,
        awaitsTransition: Bool = false,
        start: Start = .whenMapped,
        previousLoad: PreviousLoad = .cancelled,
        focus: ImagePoint = .center
    ) {
        self.whileLoading = whileLoading
        self.display = display
        self.awaitsTransition = awaitsTransition
        self.start = start
        self.previousLoad = previousLoad
        self.focus = focus
    }
}
