import FoundationEssentials

/// Records the failures of a manager that the app wants to be remembered: permanent ones by default.
final class FailureRecorder: Sendable {
    private let failures: FailureCache
    private let loaders: LoaderRegistry
    private let clock: any TimeKeeping
    private let shouldRemember: (@Sendable (URL, ImageError) -> Bool)?

    init(_ dependencies: Pipeline.Dependencies) {
        failures = dependencies.failures
        loaders = dependencies.loaders
        clock = dependencies.clock
        shouldRemember = dependencies.shouldRememberFailure
    }

    func record(_ error: ImageError, of request: ImageRequest) {
        // Bytes on this machine are quickly read again.
        guard loaders.loader(for: request)?.shouldCacheOnDisk(request.url) == true else { return }
        guard shouldRemember?(request.url, error) ?? error.isPermanent else { return }
        failures.remember(error, for: request, now: clock.now)
    }
}
