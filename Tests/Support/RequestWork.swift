import Dispatch
import Foundation
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Loads of one kind through a manager whose loader answers at once, so that only the library's own work is measured.
package struct RequestWork {
    package enum Kind: String, CaseIterable, Sendable {
        /// Every image is fetched from the loader and decoded.
        case load
        /// Every image is in memory.
        case hit
        /// No image is in memory, and the request allows only caches.
        case miss
        /// A hundred loads at a time share one fetch and one decode.
        case coalesced
        /// Every load is cancelled as soon as it has started.
        case cancelled

        package var title: String {
            switch self {
            case .load: "fetched and decoded"
            case .hit: "memory hit"
            case .miss: "memory miss"
            case .coalesced: "coalesced, a hundred for one image"
            case .cancelled: "started and cancelled"
            }
        }

        /// Enough loads for a stable average.
        package var count: Int {
            switch self {
            case .load, .miss: 5000
            case .hit: 20_000
            case .coalesced, .cancelled: 10_000
            }
        }
    }

    private let kind: Kind
    private let requests: [ImageRequest]
    private let manager: ImageManager
    private let loader: FakeLoader

    package init(_ kind: Kind) {
        self.kind = kind
        loader = FakeLoader(holdsResponses: kind == .cancelled || kind == .coalesced)
        let file = TestImage.solid(0x336699, size: PixelSize(width: 32, height: 32))
        let urls = (0..<5000).map { URL(string: "http://host/some/folder/\($0).png")! }
        for url in urls { loader.answer(url, with: file) }
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.loaders = [loader]
        manager = ImageManager(configuration: configuration)
        requests = urls.map { url in
            var request = ImageRequest(url: url)
            if kind == .miss { request.cachePolicy = .cachedOnly }
            return request
        }
        if kind == .hit { load(requests.prefix(1000)) }
    }

    /// Performs that many loads and waits for their completions.
    package func run(count: Int) {
        switch kind {
        case .load, .miss:
            for start in stride(from: 0, to: count, by: requests.count) {
                load(requests.prefix(min(requests.count, count - start)))
                manager.cache.removeAllFromMemory()
            }
        case .hit:
            for _ in 0..<count / 1000 { load(requests.prefix(1000)) }
        case .coalesced:
            for index in 0..<count / 100 { coalesce(requests[index % requests.count]) }
            manager.cache.removeAllFromMemory()
        case .cancelled:
            let group = DispatchGroup()
            for index in 0..<count {
                group.enter()
                manager.load(requests[index % 500], on: AnyThread()) { _ in group.leave() }.cancel()
            }
            group.wait()
            // The completions come within cancel().
            while manager.pendingChangeCount > 0 { sched_yield() }
        }
    }

    /// Starts a hundred loads before the loader answers.
    private func coalesce(_ request: ImageRequest) {
        let group = DispatchGroup()
        for _ in 0..<100 {
            group.enter()
            manager.load(request, on: AnyThread()) { _ in group.leave() }
        }
        while manager.pendingChangeCount > 0 { sched_yield() }
        loader.finish(request.url)
        group.wait()
    }

    private func load(_ requests: ArraySlice<ImageRequest>) {
        let group = DispatchGroup()
        for request in requests {
            group.enter()
            manager.load(request, on: AnyThread()) { _ in group.leave() }
        }
        group.wait()
    }
}

/// Calls completions on the thread that has the result.
package struct AnyThread: CallbackDispatching {
    package init() {}

    package var isCurrent: Bool { true }
    package func dispatch(_ work: @escaping @Sendable () -> Void) { work() }
}
