/// How the load of an image ends: with a response or with a typed error.
package typealias ImageResult = Result<ImageResponse, ImageError>

/// The callbacks of a task. Only loads of images have a completion here.
package struct LoadHandlers: Sendable {
    typealias Progress = @Sendable (_ received: Int64, _ expected: Int64?) -> Void
    typealias Partial = @Sendable (WebImage) -> Void
    typealias Completion = @Sendable (ImageResult) -> Void

    var progress: Progress?
    var partial: Partial?
    let completion: Completion

    /// Callbacks for a dispatcher that delivers on the main thread. They are cast, because closures around them would cost
    /// an allocation for each memory hit.
    package static func mainActor(
        progress: (@MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        partial: (@MainActor @Sendable (WebImage) -> Void)? = nil,
        completion: @escaping @MainActor @Sendable (ImageResult) -> Void
    ) -> LoadHandlers {
        LoadHandlers(
            progress: unsafeBitCast(progress, to: Progress?.self),
            partial: unsafeBitCast(partial, to: Partial?.self),
            completion: unsafeBitCast(completion, to: Completion.self)
        )
    }
}

/// The result of a load of an image or of bytes, for code that is not generic.
enum LoadEnding: Sendable {
    case image(ImageResult)
    case data(Result<DataResponse, ImageError>)

    init<Content>(_ result: LoadTask<Content>.Ending) {
        if let image = result as? ImageResult { self = .image(image) } else { self = .data(result as! DataTask.Ending) }
    }

    /// The result with the content of a task: an image or bytes.
    func result<Content>() -> LoadTask<Content>.Ending {
        switch self {
        case .image(let result): result as! LoadTask<Content>.Ending
        case .data(let result): result as! LoadTask<Content>.Ending
        }
    }
}
