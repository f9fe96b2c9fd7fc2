import ArgumentParser
import CAllocationCounter
import Foundation
import WebImageCore
import WebImageLinux
import WebImageTesting

/// What the manager itself costs, with a loader that answers at once.
struct Requests: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Time and allocations of requests: in memory, coalesced, through all stages, cancelled."
    )

    func run() throws {
        let loader = FakeLoader()
        let picture = TestPicture.solid(0x336699, size: PixelSize(width: 32, height: 32))
        let urls = (0..<5000).map { URL(string: "http://host/some/folder/\($0).png")! }
        for url in urls { loader.answer(url, with: picture) }
        var configuration = ImageManagerConfiguration()
        configuration.diskCache = nil
        configuration.loaders = [loader]
        let manager = ImageManager(configuration: configuration)
        let requests = urls.map { ImageRequest(url: $0) }

        measure("through all stages, each", urls.count) {
            load(requests, with: manager)
        }
        let inMemory = Array(requests.suffix(1000))
        measure("hit in memory, each", inMemory.count * 20) {
            for _ in 0..<20 { load(inMemory, with: manager) }
        }
        let unknown = requests.map { request in
            var request = request
            request.options = .fromCacheOnly
            request.cacheKey = "none \(request.url.lastPathComponent)"
            return request
        }
        measure("found nowhere, each", unknown.count) { load(unknown, with: manager) }
        manager.cache.removeAllFromMemory()
        measure("a hundred for one picture, each", 100) {
            load([ImageRequest](repeating: requests[0], count: 100), with: manager)
        }
        manager.cache.removeAllFromMemory()
        let holding = FakeLoader(isHolding: true)
        configuration.loaders = [holding]
        let waiting = ImageManager(configuration: configuration)
        measure("begun and cancelled, each", 10_000) {
            let group = DispatchGroup()
            for index in 0..<10_000 {
                group.enter()
                waiting.load(requests[index % 500], on: Anywhere()) { _ in group.leave() }.cancel()
            }
            group.wait()
        }
    }

    private func load(_ requests: [ImageRequest], with manager: ImageManager) {
        let group = DispatchGroup()
        for request in requests {
            group.enter()
            manager.load(request, on: Anywhere()) { _ in group.leave() }
        }
        group.wait()
    }

    private func measure(_ name: String, _ count: Int, _ body: () -> Void) {
        let before = allocation_count()
        let time = ContinuousClock().measure(body)
        let allocations = Double(allocation_count() - before) / Double(count)
        let microseconds = time / .microseconds(1) / Double(count)
        print("\(name): \(Rounds.format(microseconds)) us, \(Rounds.format(allocations)) allocations")
    }
}

/// Completions on whatever thread they come.
private struct Anywhere: CallbackDispatching {
    var isCurrent: Bool { true }
    func dispatch(_ work: @escaping @Sendable () -> Void) { work() }
}
