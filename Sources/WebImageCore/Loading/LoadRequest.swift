public import FoundationEssentials

/// What a loader is asked for.
public struct LoadRequest: Sendable {
    /// Where the bytes are.
    public var url: URL
    /// How urgent they are.
    public var priority: ImagePriority
    /// Whether ``LoadEvent/data(_:)`` is wanted.
    public var wantsData: Bool
    /// How they are asked for.
    public var options: LoadOptions
    /// What a copy at hand is told apart by: the bytes are wanted only if they are others, and
    /// ``LoadedData/isNotModified`` says that they are not. Default: there is no copy.
    public var validators: ResponseMetadata.Validators?

    /// Makes a request.
    public init(
        url: URL,
        priority: ImagePriority = .normal,
        wantsData: Bool = false,
        options: LoadOptions = LoadOptions(),
        validators: ResponseMetadata.Validators? = nil
    ) {
        self.url = url
        self.priority = priority
        self.wantsData = wantsData
        self.options = options
        self.validators = validators
    }
}
