import FoundationEssentials
import Glibc
import Synchronization
import WebImageCore

/// Shows the stages of loads as marks in sysprof, beside those of GTK. It follows the steps that ``ImageManager/observe(_:)`` reports, so
/// that loads of a process that sysprof has not started do nothing for it.
final class SysprofMarks: Sendable {
    /// The marks of this process; `nil` unless sysprof has started it.
    static let shared = SysprofConnection.inheritedSocket.map { SysprofMarks(SysprofConnection(control: $0)) }

    enum Stage: String {
        /// From the start of a load to its first look at the disk or at a loader.
        case queued
        case disk
        case transfer
        case decode
        case transform
        /// From the end of the work to the callbacks: the time in the queue of the main loop.
        case delivery
    }

    /// What is known of the loads of a URL that have not ended.
    private struct Progress {
        var queued: ContinuousClock.Instant?
        var started: ContinuousClock.Instant?
        var ready: ContinuousClock.Instant?
        var loadCount = 0
    }

    /// The number of URLs from which on all are forgotten: something begins loads that end nowhere.
    private static let largestCount = 10_000

    let connection: SysprofConnection
    private let loads = Mutex<[URL: Progress]>([:])

    init(_ connection: SysprofConnection) {
        self.connection = connection
    }

    /// The number of URLs with loads that have not ended.
    var followedCount: Int { loads.withLock { $0.count } }

    /// Follows a step of a load.
    func add(_ event: LoadTraceEvent) {
        loads.withLock { loads in
            if loads.count >= Self.largestCount { loads = [:] }
            var progress = loads[event.url] ?? Progress()
            follow(event, &progress)
            loads[event.url] = progress.loadCount > 0 ? progress : nil
        }
    }

    private func follow(_ event: LoadTraceEvent, _ progress: inout Progress) {
        switch event.kind {
        case .queued:
            progress.loadCount += 1
            progress.queued = progress.queued ?? event.time
        case .renditionHit(let duration), .diskHit(let duration), .diskMiss(let duration):
            leaveQueue(event, &progress, before: duration)
            add(.disk, event, duration)
        case .started:
            leaveQueue(event, &progress)
            progress.started = event.time
        case .loaded, .retrying:
            if let start = progress.started.take() { add(.transfer, event, event.time - start) }
        case .decoded(let duration): add(.decode, event, duration)
        case .transformed(let duration): add(.transform, event, duration)
        case .ready:
            // A transfer that has failed.
            if let start = progress.started.take() { add(.transfer, event, event.time - start) }
            progress.ready = progress.ready ?? event.time
        case .delivered, .failed:
            if let start = progress.ready.take() { add(.delivery, event, event.time - start) }
            progress.loadCount -= 1
        case .cancelled: progress.loadCount -= 1
        case .memoryHit, .memoryMiss, .firstBytes, .partial, .stored: break
        }
    }

    /// Ends the wait of the loads of a URL.
    /// - Parameter duration: How long before the event it has ended.
    private func leaveQueue(_ event: LoadTraceEvent, _ progress: inout Progress, before duration: Duration = .zero) {
        guard let start = progress.queued.take() else { return }
        add(.queued, event, max(event.time - start - duration, .zero), endedBefore: duration)
    }

    private func add(
        _ stage: Stage,
        _ event: LoadTraceEvent,
        _ duration: Duration,
        endedBefore: Duration = .zero
    ) {
        // ContinuousClock counts on while the machine is suspended, and sysprof does not.
        let ago = ContinuousClock.now - event.time + endedBefore + duration
        // Queries may have secrets even in the names of their values.
        let message = event.url.textForMessages.prefix { $0 != "?" }
        connection.add(
            SysprofMark(
                name: stage.rawValue,
                message: String(message),
                start: Self.monotonicNow - Int64(bounded: ago / .nanoseconds(1)),
                duration: duration
            )
        )
    }

    private static var monotonicNow: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
