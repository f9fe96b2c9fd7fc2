import FoundationEssentials
import TestSupport
import WebImageCore
import WebImageLinux
import WebImageTesting

/// One load by a downloader and its events.
final class Download: Sendable {
    static let body = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 17) })

    let events = EventLog<LoaderEvent>()
    private let operation: any FetchOperation

    init(_ downloader: ImageDownloader, _ request: LoaderRequest) {
        let events = events
        operation = downloader.load(request) { events.add($0) }
    }

    convenience init(
        _ downloader: ImageDownloader,
        _ url: URL,
        priority: ImagePriority = .normal,
        wantsData: Bool = false,
        _ change: (inout NetworkOptions) -> Void = { _ in }
    ) {
        var options = NetworkOptions()
        change(&options)
        self.init(downloader, LoaderRequest(url: url, priority: priority, wantsData: wantsData, options: options))
    }

    var results: [Result<LoaderResult, ImageError>] {
        events.all.compactMap { if case .finished(let result) = $0 { result } else { nil } }
    }

    /// The bytes that were streamed.
    var pieces: Data {
        events.all.reduce(into: Data()) { if case .data(let data) = $1 { $0 += data } }
    }

    var progress: [(received: Int64, expected: Int64?)] {
        events.all.compactMap {
            if case .progress(let received, let expected) = $0 { (received, expected) } else { nil }
        }
    }

    /// Waits for the result.
    func end() throws -> LoaderResult {
        events.wait { if case .finished = $0.last { true } else { false } }
        guard let result = results.first else { throw NoEnd() }
        return try result.get()
    }

    /// Waits for a result that depends on other tasks, without a thread.
    func ending() async throws -> LoaderResult {
        guard await eventually({ !results.isEmpty }), let result = results.first else { throw NoEnd() }
        return try result.get()
    }

    /// Waits for a result that depends on other tasks, and returns its error; nil when the load succeeds.
    func failing() async -> ImageError? {
        do {
            _ = try await ending()
            return nil
        } catch {
            return error as? ImageError
        }
    }

    /// Waits for the result and returns its error; nil when the load succeeds.
    func failure() -> ImageError? {
        do {
            _ = try end()
            return nil
        } catch {
            return error as? ImageError
        }
    }

    func cancel() { operation.cancel() }
    func setPriority(_ priority: ImagePriority) { operation.setPriority(priority) }

    private struct NoEnd: Error {}
}

extension ImageDownloader {
    /// Makes a downloader with a changed default configuration.
    convenience init(_ change: (inout ImageDownloader.Configuration) -> Void) {
        var configuration = ImageDownloader.Configuration()
        change(&configuration)
        self.init(configuration: configuration)
    }
}

extension ImageDownloader {
    /// A downloader that waits for closures of the app for as long as the threads of Swift's concurrency are busy with other tests.
    static func patient(_ change: (inout ImageDownloader.Configuration) -> Void = { _ in }) -> ImageDownloader {
        ImageDownloader {
            $0.idleTimeout = .seconds(600)
            change(&$0)
        }
    }
}
