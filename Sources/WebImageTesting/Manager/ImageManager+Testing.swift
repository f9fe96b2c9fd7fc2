public import WebImageCore
public import WebImageLinux

extension ImageManager {
    /// A manager for tests: everything as in an app, except that nothing touches the network or the disk, and that
    /// failures are neither tried again nor remembered.
    /// - Parameters:
    ///   - loader: Answers for every URL.
    ///   - change: Changes the rest.
    public static func testing(
        _ loader: FakeLoader,
        _ change: (inout ImageManagerConfiguration) -> Void = { _ in }
    ) -> ImageManager {
        var configuration = ImageManagerConfiguration()
        configuration.diskCache = nil
        configuration.loaders = [loader]
        configuration.retryPolicy = .never
        configuration.failureLifetime = .zero
        change(&configuration)
        return ImageManager(configuration: configuration)
    }
}
