import Foundation
import TestSupport
import Testing
import WebImageFormats
import WebImageLinux
import WebImageTesting

@testable import WebImageCore

/// A manager with real queues, caches and coders, and a loader that the test controls.
struct ManagerFixture {
    enum Outcome: Sendable, Equatable {
        case image(PixelSize, LoadSource)
        case failure(ImageError.Code)
    }

    let loader: FakeLoader
    let manager: ImageManager
    let memory = MemoryCache(costLimit: 64 << 20)
    let decodes = CountingCoder()
    let outcomes = EventLog<Outcome>()
    let clock = ManualClock()
    let network = ManualNetwork()
    private let ioQueue = WorkQueue(name: "test-io", threadCount: 4)
    private let decodeQueue = WorkQueue(name: "test-decode", threadCount: 2)
    let disk: DiskCache?
    let results: DiskCache
    private let dispatcher: any CallbackDispatching
    private let directory = TemporaryDirectory()

    init(
        holdsResponses: Bool = false,
        dispatcher: any CallbackDispatching = InlineDispatcher(),
        hasDisk: Bool = true,
        hasResults: Bool = true,
        sizeLimit: Int = 100_000_000,
        originalStore: any FileStoring = FileStore(),
        resultStore: any FileStoring = FileStore(),
        retryPolicy: ImageRetryPolicy = .never,
        serializer: CacheSerializer? = nil,
        maintenanceInterval: Duration? = nil,
        change: (inout Pipeline.Dependencies) -> Void = { _ in }
    ) {
        self.dispatcher = dispatcher
        loader = FakeLoader(holdsResponses: holdsResponses)
        let cache = DiskCache(
            directory: directory.path + "/originals",
            limits: DiskLimits(sizeLimit: sizeLimit),
            hashes: .standard,
            files: originalStore
        )
        disk = hasDisk ? cache : nil
        results = DiskCache(
            directory: directory.path + "/results",
            limits: DiskLimits(sizeLimit: 100_000_000),
            hashes: .standard,
            files: resultStore
        )
        var dependencies = Pipeline.Dependencies(
            memoryCache: memory,
            dataCache: disk,
            loaders: LoaderRegistry([loader]),
            coders: CoderRegistry([decodes]),
            dispatcher: dispatcher,
            ioQueue: ioQueue,
            decodeQueue: decodeQueue
        )
        dependencies.renditionCache = hasResults ? results : nil
        dependencies.renditionCoder = RenditionCoder()
        dependencies.retryPolicy = retryPolicy
        dependencies.serializer = serializer
        dependencies.maintenanceInterval = maintenanceInterval
        dependencies.clock = clock
        dependencies.network = network
        change(&dependencies)
        manager = ImageManager(dependencies: dependencies)
    }

    /// Waits for a condition without blocking the thread.
    /// The time is long because tests occupy the few threads on which tasks run.
    func polled(_ condition: @escaping @Sendable () -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(returning: EventLog<Int>.poll(seconds: 600, until: condition))
            }
        }
    }

    func url(_ name: String) -> URL { URL(string: "http://host/\(name)")! }

    @discardableResult
    func load(
        _ name: String,
        cachePolicy: ImageRequest.CachePolicy = .standard,
        cacheAccess: CacheAccess = CacheAccess(),
        priority: ImagePriority = .normal,
        size: DecodeSize = .original,
        transformer: ImageTransformer? = nil
    ) -> ImageTask {
        var request = ImageRequest(
            url: url(name),
            priority: priority,
            cachePolicy: cachePolicy,
            decodeSize: size,
            transformer: transformer
        )
        request.cacheAccess = cacheAccess
        return load(request) { outcomes.add(Outcome($0)) }
    }

    /// The load of a request with callbacks on the fixture's dispatcher. It has joined its job when this call returns.
    @discardableResult
    func load(
        _ request: ImageRequest,
        progress: (@Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        partial: (@Sendable (WebImage) -> Void)? = nil,
        completion: @escaping @Sendable (Result<ImageResponse, ImageError>) -> Void
    ) -> ImageTask {
        let task = manager.load(request, on: dispatcher, progress: progress, partial: partial, completion: completion)
        settle()
        return task
    }

    /// Waits until all that was asked of the manager has reached its loads.
    func settle() {
        let isSettled = EventLog<Int>.poll { manager.pendingChangeCount == 0 }
        if !isSettled { Issue.record("The changes of loads are stuck") }
    }

    /// Whether all work has ended, including the writes to disk.
    var isQuiet: Bool {
        isIdle && ioQueue.pendingCount == 0 && decodeQueue.pendingCount == 0 && ioQueue.pendingCount == 0
    }

    /// Whether no thread has work.
    var isAtRest: Bool { ioQueue.pendingCount == 0 && decodeQueue.pendingCount == 0 }

    /// Whether no load is in progress.
    var isIdle: Bool {
        settle()
        let counts = manager.activeCounts
        return counts.jobs == 0 && counts.fetches == 0 && loader.runningCount == 0
    }
}

extension ManagerFixture.Outcome {
    init(_ result: Result<ImageResponse, ImageError>) {
        switch result {
        case .success(let response): self = .image(response.image.pixelSize, response.source)
        case .failure(let error): self = .failure(error.code)
        }
    }
}

/// The library's own decoders, counted.
final class CountingCoder: ImageDecoding {
    private let coders = CoderRegistry.builtIn
    private let log = EventLog<ImageFormat>()

    var count: Int { log.all.count }

    func canDecode(_ format: ImageFormat) -> Bool { coders.decoder(for: format) != nil }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        let format = ImageFormat(sniffing: data)
        log.add(format)
        return try coders.decode(data, options: options)
    }

    func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        coders.decoder(for: format)?.makeIncrementalDecoder(for: format, options: options)
    }
}
