import ArgumentParser
import Foundation
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Loads of one kind, with a loader that answers at once: what the manager itself costs.
struct RequestWork {
    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case through, hit, unknown, coalesced, cancelled

        var title: String {
            switch self {
            case .through: "through all stages"
            case .hit: "hit in memory"
            case .unknown: "found nowhere"
            case .coalesced: "a hundred for one image"
            case .cancelled: "begun and cancelled"
            }
        }

        /// How many make a fair number.
        var count: Int {
            switch self {
            case .through, .unknown: 5000
            case .hit: 20_000
            case .coalesced, .cancelled: 10_000
            }
        }
    }

    private let requests: [ImageRequest]
    private let manager: ImageManager
    private let holdsResponses: Bool

    /// - Parameter kind: Whether its images have to be in memory already, whether the loader answers at all.
    init(_ kind: Kind) {
        holdsResponses = kind == .cancelled
        let loader = FakeLoader(holdsResponses: holdsResponses)
        let picture = TestImage.solid(0x336699, size: PixelSize(width: 32, height: 32))
        let urls = (0..<5000).map { URL(string: "http://host/some/folder/\($0).png")! }
        for url in urls { loader.answer(url, with: picture) }
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.loaders = [loader]
        manager = ImageManager(configuration: configuration)
        requests = urls.map { url in
            var request = ImageRequest(url: url)
            if kind == .unknown { request.cachePolicy = .cachedOnly }
            return request
        }
        if kind == .hit { load(requests.prefix(1000)) }
    }

    func run(_ kind: Kind, count: Int) {
        switch kind {
        case .through, .unknown:
            for start in stride(from: 0, to: count, by: requests.count) {
                load(requests.prefix(min(requests.count, count - start)))
                manager.cache.removeAllFromMemory()
            }
        case .hit:
            for _ in 0..<count / 1000 { load(requests.prefix(1000)) }
        case .coalesced:
            for index in 0..<count / 100 {
                load(Array(repeating: requests[index % requests.count], count: 100)[...])
            }
        case .cancelled:
            let group = DispatchGroup()
            for index in 0..<count {
                group.enter()
                manager.load(requests[index % 500], on: Anywhere()) { _ in group.leave() }.cancel()
            }
            group.wait()
        }
    }

    private func load(_ requests: ArraySlice<ImageRequest>) {
        let group = DispatchGroup()
        for request in requests {
            group.enter()
            manager.load(request, on: Anywhere()) { _ in group.leave() }
        }
        group.wait()
    }
}

/// Completions on whatever thread they come.
private struct Anywhere: CallbackDispatching {
    var isCurrent: Bool { true }
    func dispatch(_ work: @escaping @Sendable () -> Void) { work() }
}
