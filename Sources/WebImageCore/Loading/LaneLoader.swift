package import FoundationEssentials
import Synchronization

/// A loader of bytes that are at hand, on the I/O lane: files, resources, data URLs.
package struct LaneLoader: ImageLoading {
    private let scheme: String
    private let lane: WorkLane
    private let read: @Sendable (URL) throws(ImageError) -> LoadedData

    /// - Parameter read: Gets the bytes; it may block.
    package init(
        scheme: String,
        lane: WorkLane,
        read: @escaping @Sendable (URL) throws(ImageError) -> LoadedData
    ) {
        self.scheme = scheme
        self.lane = lane
        self.read = read
    }

    package func canLoad(_ url: URL) -> Bool { url.scheme?.lowercased() == scheme }

    /// It is on this machine already.
    package func isWorthCaching(_ url: URL) -> Bool { false }

    package func load(
        _ request: LoadRequest,
        onEvent: @escaping @Sendable (LoadEvent) -> Void
    ) -> any LoadOperation {
        let operation = LaneLoad(lane: lane, wantsData: request.wantsData)
        let read = read
        operation.start(priority: request.priority) {
            guard !operation.isCancelled else { return }
            let result = Result { () throws(ImageError) in try read(request.url) }
            guard !operation.isCancelled else { return }
            if case .success(let loaded) = result {
                let count = Int64(loaded.data.count)
                onEvent(.progress(received: count, expected: count))
                if operation.wantsData { onEvent(.data(loaded.data)) }
            }
            onEvent(.finished(result))
        }
        return operation
    }
}

private final class LaneLoad: LoadOperation {
    private struct State {
        var ticket: WorkLane.Ticket?
        var isCancelled = false
        var wantsData: Bool
    }

    private let lane: WorkLane
    private let state: Mutex<State>

    init(lane: WorkLane, wantsData: Bool) {
        self.lane = lane
        state = Mutex(State(wantsData: wantsData))
    }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }
    var wantsData: Bool { state.withLock { $0.wantsData } }

    func start(priority: ImagePriority, _ work: @escaping @Sendable () -> Void) {
        let ticket = lane.submit(priority: priority, work)
        state.withLock { $0.ticket = ticket }
    }

    func cancel() {
        let ticket = state.withLock { state in
            state.isCancelled = true
            return state.ticket
        }
        if let ticket { lane.cancel(ticket) }
    }

    func setPriority(_ priority: ImagePriority) {
        if let ticket = state.withLock({ $0.ticket }) { lane.setPriority(priority, of: ticket) }
    }

    func deliverData() {
        state.withLock { $0.wantsData = true }
    }
}

extension LaneLoader {
    /// `file:` URLs.
    /// - Parameter maximumByteCount: Larger files are turned down.
    package static func files(lane: WorkLane, maximumByteCount: Int) -> LaneLoader {
        let store = FileStore()
        return LaneLoader(scheme: "file", lane: lane) { url throws(ImageError) in
            do {
                let data = try store.read(url.path(percentEncoded: false), maximumByteCount: maximumByteCount)
                return LoadedData(data: data)
            } catch {
                throw ImageError(
                    .unreadable,
                    url: url,
                    reason: "The file cannot be read (\(error))",
                    remedy: "Check that it exists, is a regular file below the size limit, and may be read."
                )
            }
        }
    }

    /// `data:` URLs (RFC 2397).
    package static func dataURLs(lane: WorkLane) -> LaneLoader {
        LaneLoader(scheme: "data", lane: lane) { url throws(ImageError) in
            guard let content = DataURL(url.absoluteString) else {
                throw ImageError(
                    .invalidURL,
                    url: url,
                    reason: "The data URL is malformed",
                    remedy: "Write it as data:image/png;base64,... with correct base64 or percent-encoding."
                )
            }
            return LoadedData(data: content.data, metadata: ResponseMetadata(contentType: content.mediaType))
        }
    }
}
