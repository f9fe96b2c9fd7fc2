public import WebImageCore
public import WebImageLinux

extension ImageManager {
    /// A manager for tests: everything as in an app, except that nothing touches the network or the disk, and that
    /// failures are neither tried again nor remembered.
    /// - Parameters:
    ///   - loader: Answers for every URL.
    ///   - clock: Tells the time. Default: the clock of the machine.
    ///   - change: Changes the rest.
    public static func testing(
        _ loader: FakeLoader,
        clock: ManualClock? = nil,
        _ change: (inout ImageManager.Configuration) -> Void = { _ in }
    ) -> ImageManager {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.loaders = [loader]
        configuration.retryPolicy = .never
        configuration.failureCacheDuration = .zero
        if let clock { configuration.clock = clock }
        change(&configuration)
        return ImageManager(configuration: configuration)
    }
}
