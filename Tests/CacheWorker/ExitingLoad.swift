import Foundation
import Synchronization
import WebImageCore
import WebImageLinux

/// Loads images with a disk cache, and exits within the last completion, before the library has had a turn to write.
enum ExitingLoad {
    static let imageCount = 50

    private struct Loader: DataLoading {
        struct Operation: FetchOperation {
            func cancel() {}
            func setPriority(_ priority: ImagePriority) {}
            func startStreaming() {}
        }

        let image: Data

        func canLoad(_ url: URL) -> Bool { true }

        func load(
            _ request: LoaderRequest,
            onEvent: @escaping @Sendable (LoaderEvent) -> Void
        ) -> any FetchOperation {
            onEvent(.finished(.success(LoaderResult(data: image))))
            return Operation()
        }
    }

    /// A GIF of one pixel.
    private static let pixel = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

    static func run(in directory: String) -> Never {
        let decodeQueue = WorkQueue(name: "decode", threadCount: 1)
        let cache = DiskCache(directory: directory, limits: DiskLimits(sizeLimit: 1 << 30), hashes: .standard)
        let manager = ImageManager(
            dependencies: Pipeline.Dependencies(
                memoryCache: MemoryCache(costLimit: 1 << 20),
                dataCache: cache,
                loaders: LoaderRegistry([Loader(image: Data(base64Encoded: pixel) ?? Data())]),
                coders: .builtIn,
                dispatcher: InlineDispatcher(),
                ioQueue: WorkQueue(name: "io", threadCount: 2),
                decodeQueue: decodeQueue
            )
        )
        // The writer gets no turn while images wait to be decoded.
        let start = DispatchSemaphore(value: 0)
        decodeQueue.submit { start.wait() }
        let count = Mutex(0)
        for number in 0..<imageCount {
            let url = URL(string: "http://host/\(number).gif")!
            manager.load(ImageRequest(url: url), on: InlineDispatcher()) { _ in
                let isLast = count.withLock { count in
                    count += 1
                    return count == imageCount
                }
                if isLast { exit(FileStore().files(below: directory).isEmpty ? 0 : 3) }
            }
        }
        while decodeQueue.pendingCount <= imageCount { usleep(1000) }
        start.signal()
        while true { pause() }
    }
}
