internal import CWebImageGLib
import FoundationEssentials
import WebImageCore

/// A call of an asynchronous function of GIO.
final class FileCall: Sendable {
    typealias Finish =
        @Sendable (
            _ source: OpaquePointer?, _ result: OpaquePointer?,
            _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>
        ) -> Void

    private let finish: Finish
    private let continuation: CheckedContinuation<String?, Never>

    private init(_ finish: @escaping Finish, _ continuation: CheckedContinuation<String?, Never>) {
        (self.finish, self.continuation) = (finish, continuation)
    }

    /// - Returns: The message of the error; `nil` after a success.
    @MainActor
    static func run(
        _ start: (_ callback: @escaping GAsyncReadyCallback, _ context: gpointer) -> Void,
        finish: @escaping Finish
    ) async -> String? {
        await withCheckedContinuation { continuation in
            let callback: GAsyncReadyCallback = { source, result, context in
                let call = Unmanaged<FileCall>.fromOpaque(context!).takeRetainedValue()
                var error: UnsafeMutablePointer<GError>?
                call.finish(source.map { OpaquePointer($0) }, result, &error)
                let message = error.map { String(cString: $0.pointee.message) }
                g_clear_error(&error)
                call.continuation.resume(returning: message)
            }
            start(callback, Unmanaged.passRetained(FileCall(finish, continuation)).toOpaque())
        }
    }
}

/// Runs blocking work, on the main thread if the system starts no other. The first use of Dispatch's global queues, as by
/// Task.detached, starts a thread that wakes the process every second from then on.
@MainActor
func inBackground<R: Sendable>(_ work: @escaping @Sendable () -> R) async -> R {
    guard queue.start() == 0 else { return work() }
    return await withCheckedContinuation { continuation in queue.submit { continuation.resume(returning: work()) } }
}

extension ImageManager {
    /// The bytes of a URL, without leaving the main thread for Dispatch's global queues.
    @MainActor
    func file(for request: ImageRequest) async throws(ImageError) -> Data {
        try await withCheckedContinuation { task in loadData(request) { task.resume(returning: $0) } }.get().data
    }
}

private let queue = WorkQueue(name: "gwi-desktop", threadCount: 1)
