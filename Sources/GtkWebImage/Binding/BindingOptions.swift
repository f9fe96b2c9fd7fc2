public import WebImageCore

/// How a bound widget treats a load, apart from what is loaded.
public struct BindingOptions: Hashable, Sendable {
    /// What the widget shows until the image is there.
    public enum WhileLoading: Hashable, Sendable {
        /// The placeholder, or nothing if there is none. The default.
        case placeholder
        /// The placeholder, or what the widget shows already if there is none.
        case placeholderOrCurrentImage
        /// What the widget shows already, until the first partial image of a progressive load or the image itself. The placeholder
        /// appears only if the load fails.
        case currentImage
    }

    /// How the image is put into the widget.
    public enum Display: Hashable, Sendable {
        /// At once when it comes from memory, else with the transition of the widget. The default.
        case automatic
        /// Always with the transition of the widget.
        case animated
        /// Not at all: the app takes the image from the completion and the partial handler.
        case manual
    }

    /// When the load starts.
    public enum Start: Hashable, Sendable {
        /// When the widget is mapped, to go on even when it is unmapped again. The default.
        case whenMapped
        /// When the widget is mapped. The load stops while it is unmapped, and its completion waits.
        case onlyWhileMapped
        /// The load starts at once, for widgets that are shown later.
        case immediately
    }

    /// What becomes of the load that the widget had before.
    public enum PreviousLoad: Hashable, Sendable {
        /// It is cancelled. The default.
        case cancelled
        /// It runs to its end, for its completion and the caches; the widget shows nothing of it. One that waits for the widget to be
        /// mapped is cancelled.
        case finishes
    }

    /// What the widget shows until the image is there. Default: the placeholder.
    public var whileLoading: WhileLoading
    /// How the image is put into the widget. Default: automatically.
    public var display: Display
    /// Whether the completion waits for the transition. A transition that another image cuts short is over then; the
    /// load has still succeeded. Default: no.
    public var awaitsTransition: Bool
    /// When the load starts. Default: when the widget is mapped.
    public var start: Start
    /// What becomes of the previous load. Default: it is cancelled.
    public var previousLoad: PreviousLoad
    /// The point of the image that stays as near to the middle as its edges allow where the widget crops it, as
    /// ``ContentFit/cover``, the background of a button and an avatar do. Default: the middle.
    public var focus: ImagePoint

    /// Creates options. The defaults are those of every `setImage`: the placeholder at once, and the load when the
    /// widget is mapped.
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
