/// How the load of an image ends: with a response or with a typed error.
package typealias ImageResult = Result<ImageResponse, ImageError>

/// The callbacks of a task, under the isolation that the caller wrote them in.
///
/// The two kinds are separate because wrapping a main-actor closure in another closure would cost an allocation for
/// each memory hit, as would closures of a generic type. Only loads of images have a completion here.
package enum LoadHandlers: Sendable {
    case mainActor(
        progress: (@MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        partial: (@MainActor @Sendable (WebImage) -> Void)? = nil,
        completion: @MainActor @Sendable (ImageResult) -> Void
    )
    case nonisolated(
        progress: (@Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        partial: (@Sendable (WebImage) -> Void)? = nil,
        completion: @Sendable (ImageResult) -> Void
    )

    var wantsProgress: Bool {
        switch self {
        case .mainActor(let progress, _, _): progress != nil
        case .nonisolated(let progress, _, _): progress != nil
        }
    }

    var wantsPartialImages: Bool {
        switch self {
        case .mainActor(_, let partial, _): partial != nil
        case .nonisolated(_, let partial, _): partial != nil
        }
    }

    /// The same handlers with another progress handler. Nonisolated handlers stay unchanged, because bindings do not use them.
    func reportingProgress(
        to handler: @escaping @MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void
    ) -> LoadHandlers {
        switch self {
        case .mainActor(_, let partial, let completion):
            .mainActor(progress: handler, partial: partial, completion: completion)
        case .nonisolated: self
        }
    }

    // Main-actor handlers are only used with a dispatcher that delivers on the main thread.

    func report(received: Int64, expected: Int64?) {
        switch self {
        case .mainActor(let progress, _, _): MainActor.assumeIsolated { progress?(received, expected) }
        case .nonisolated(let progress, _, _): progress?(received, expected)
        }
    }

    func report(partial image: WebImage) {
        switch self {
        case .mainActor(_, let partial, _): MainActor.assumeIsolated { partial?(image) }
        case .nonisolated(_, let partial, _): partial?(image)
        }
    }

    func complete(_ result: ImageResult) {
        switch self {
        case .mainActor(_, _, let completion): MainActor.assumeIsolated { completion(result) }
        case .nonisolated(_, _, let completion): completion(result)
        }
    }
}
