public import WebImageCore
public import WebImageLinux

extension ImageManager {
    /// Creates a manager for tests. It works as in an app, but uses neither network nor disk, decodes in the process of the test,
    /// does not retry or remember failures, and keeps its images when memory is short.
    /// - Parameters:
    ///   - loader: Loads all URLs.
    ///   - clock: The clock of the manager. Default: the system clock.
    ///   - change: Changes other settings of the configuration.
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
        configuration.memoryMonitor = MemoryMonitor()
        configuration.networkMonitor = AlwaysOnline()
        configuration.decoding = .inProcess
        if let clock { configuration.clock = clock }
        change(&configuration)
        return ImageManager(configuration: configuration)
    }
}
