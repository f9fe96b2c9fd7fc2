import Foundation
import Synchronization
import WebImageCore
import WebImageLinux

/// Moves a disk cache from one directory to another and back, until it has done so often enough or is killed:
/// CacheWorker move SOURCE TARGET COUNT
enum MovingCache {
    static func run(_ source: String, _ target: String, count: Int) -> Never {
        func cache(_ name: String) -> DiskCache {
            DiskCache(directory: "\(source)/\(name)", limits: DiskLimits(sizeLimit: 1 << 30), hashes: .standard)
        }
        var dependencies = Pipeline.Dependencies(
            memoryCache: MemoryCache(costLimit: 1 << 20),
            dataCache: cache("originals"),
            loaders: LoaderRegistry([]),
            coders: .builtIn,
            dispatcher: InlineDispatcher(),
            ioQueue: WorkQueue(name: "io", threadCount: 2),
            decodeQueue: WorkQueue(name: "decode", threadCount: 1)
        )
        dependencies.renditionCache = cache("results")
        let manager = ImageManager(dependencies: dependencies)
        Task {
            for number in 0..<count {
                do {
                    try await manager.cache.moveDirectory(to: number % 2 == 0 ? target : source)
                } catch {
                    print(error)
                    exit(3)
                }
            }
            exit(0)
        }
        while true { pause() }
    }
}
