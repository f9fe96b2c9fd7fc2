import Dispatch
import FoundationEssentials
import Synchronization
package import WebImageCore

/// Waits on a thread of a decode queue for an image that another process decodes, or a loader that takes as long as the file
/// wants, within a time limit and as long as the image is wanted.
///
/// gdk-pixbuf hands out neither the process nor a way to stop it or a loader, so its call runs on a thread of its own, which
/// is left behind when the wait ends early. It ends with the process or the loader.
package struct LoaderWait {
    let format: ImageFormat
    /// Whether another process decodes the image.
    let isElsewhere: Bool
    let limit: Duration
    let options: DecodeOptions
    /// The library whose loader is waited for.
    package var library = "gdk-pixbuf"
    let leftBehind: CallsLeftBehind

    /// The number of calls that may be left behind. Files that make loaders hang cannot use up threads and processes, nor
    /// those that make them work all processors.
    var maximumLeftBehind: Int { isElsewhere ? 8 : 2 }

    package init(
        format: ImageFormat,
        isElsewhere: Bool,
        limit: Duration,
        options: DecodeOptions,
        leftBehind: CallsLeftBehind? = nil
    ) {
        self.format = format
        self.isElsewhere = isElsewhere
        self.limit = limit
        self.options = options
        self.leftBehind = leftBehind ?? (isElsewhere ? .elsewhere : .ofProcess)
    }

    /// Whether calls are made directly, since another process watches the time. A decode worker sets it before `main`, on its only thread.
    nonisolated(unsafe) package static var isUnlimited = false

    private static let isAnnounced = Mutex(false)

    /// - Parameters:
    ///   - reservation: The memory of the decode, which is taken until the work ends, also when nobody waits for it any more.
    ///   - isCancelled: Called several times a second.
    ///   - work: The call that waits for the process, made on another thread. It makes the loader and frees it, too:
    ///     freeing one that has not ended waits as well.
    package func run(
        holding reservation: MemoryBudget.Reservation? = nil,
        until isCancelled: () -> Bool,
        _ work: @escaping @Sendable () throws(ImageError) -> WebImage
    ) throws(ImageError) -> WebImage {
        if Self.isUnlimited { return try work() }
        if isElsewhere { announce() }
        guard leftBehind.count < maximumLeftBehind else { throw tooManyLeftBehind }
        let call = Call()
        let code = startBatchThread(name: isElsewhere ? "gwi-glycin" : "gwi-loader") { [leftBehind] in
            let result = Result { () throws(ImageError) in try work() }
            withExtendedLifetime(reservation) {}
            if call.end(with: result) { leftBehind.add(-1) }
        }
        // On this thread the call could not be given up, and some loaders hang where they get no threads either.
        guard code == 0 else { throw noThread(code) }
        let start = SuspendingClock.now
        while call.semaphore.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
            let isLate = SuspendingClock.now - start > limit
            guard isLate || isCancelled(), call.leave() else { continue }
            leftBehind.add(1)
            guard isLate else { throw .cancelled(options.url) }
            throw ImageError(
                .timedOut,
                url: options.url,
                reason:
                    "\(isElsewhere ? "The process" : "The loader") of \(library) has not decoded this \(name) within \(limit)",
                remedy:
                    "Give the manager a decoder for \(name) (ImageManager.Configuration.decoders), or smaller files."
            )
        }
        return try call.result()
    }

    /// The error for a message of gdk-pixbuf.
    func error(_ message: String) -> ImageError {
        // Glycin's messages for a process that is not there. They go on with the command, which has many lines.
        let start = message.prefix { $0 != "\n" && $0 != "`" }.replacing("Command:", with: "")
        guard message.contains("\"bwrap\"") || message.contains("Could not spawn") || message.contains("exited early")
        else { return options.badData(message) }
        return unavailable(
            "The process in which gdk-pixbuf decodes \(name) did not start or ended early: \(start)"
        )
    }

    private var name: String { format.name }

    private var tooManyLeftBehind: ImageError {
        if isElsewhere {
            return unavailable("\(maximumLeftBehind) processes of gdk-pixbuf hang, so that no more are started")
        }
        return ImageError(
            .decoderUnavailable,
            url: options.url,
            reason:
                "\(maximumLeftBehind) loaders still work on earlier files, so that no more are started",
            remedy: "Load \(name) only from servers that you trust (AllowedFormats), or later."
        )
    }

    private func noThread(_ code: Int32) -> ImageError {
        ImageError(
            .decoderUnavailable,
            url: options.url,
            reason: "The system starts no thread on which \(library) could decode \(name) (error \(code))",
            remedy:
                "Raise the limit of processes (ulimit -u, or pids.max of the control group), then load the image again."
        )
    }

    private func unavailable(_ reason: String) -> ImageError {
        ImageError(
            .decoderUnavailable,
            url: options.url,
            reason: reason,
            remedy: """
                Install bubblewrap and glycin-loaders, and let the app start bwrap: containers, AppImages and firejail often do not. \
                Or give the manager a decoder for \(name) (ImageManager.Configuration.decoders).
                """
        )
    }

    /// Says once what is slower.
    private func announce() {
        guard Self.isAnnounced.withLock({ !exchange(&$0, with: true) }) else { return }
        WebImageLog.notice(
            """
            gdk-pixbuf decodes \(name) in another process (glycin): each image takes some milliseconds more, and none is shown \
            in parts
            """
        )
    }

    /// Counts the calls that nobody waits for and that have not ended.
    package final class CallsLeftBehind: Sendable {
        /// Those of loaders in this process.
        static let ofProcess = CallsLeftBehind()
        /// Those that wait for another process.
        static let elsewhere = CallsLeftBehind()

        private let number = Mutex(0)

        var count: Int { number.withLock { $0 } }

        func add(_ change: Int) { number.withLock { $0 += change } }
    }

    /// A call whose result either the waiting thread takes or nobody does.
    private final class Call: Sendable {
        private enum State: Sendable {
            case running
            case ended(Result<WebImage, ImageError>)
            case isLeft
        }

        let semaphore = DispatchSemaphore(value: 0)
        private let state = Mutex(State.running)

        /// - Returns: Whether nobody waits for the result.
        func end(with result: Result<WebImage, ImageError>) -> Bool {
            let isLeft = state.withLock { state in
                if case .isLeft = state { return true }
                state = .ended(result)
                return false
            }
            semaphore.signal()
            return isLeft
        }

        /// - Returns: Whether the call was still running.
        func leave() -> Bool {
            state.withLock { state in
                guard case .running = state else { return false }
                state = .isLeft
                return true
            }
        }

        /// The result of a call that has ended.
        func result() throws(ImageError) -> WebImage {
            guard case .ended(let result) = state.withLock({ $0 }) else {
                preconditionFailure("The call has not ended")
            }
            return try result.get()
        }
    }
}
