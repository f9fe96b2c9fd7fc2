import Dispatch
package import FoundationEssentials
import Synchronization
package import WebImageCore

/// Waits on a decode thread for an image that another process decodes, or for a loader whose time depends on the file. The wait
/// ends at a time limit, or when the image is no longer wanted.
///
/// gdk-pixbuf cannot stop a loader or its process. So the call runs on a separate thread, which is abandoned if the wait ends
/// early, and ends with the loader or process.
package struct LoaderWait {
    let format: ImageFormat
    /// Whether another process decodes the image.
    let isElsewhere: Bool
    let limit: Duration
    let options: DecodeOptions
    /// The library that decodes.
    package var library = "gdk-pixbuf"
    let leftBehind: CallsLeftBehind

    /// The largest number of abandoned calls. It keeps files that hang or overload loaders from using up threads, processes and
    /// processors.
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

    /// Whether calls run directly, since another process limits the time. A decode worker sets this before `main`, while it has one
    /// thread.
    nonisolated(unsafe) package static var isUnlimited = false

    private static let isAnnounced = Mutex(false)

    /// - Parameters:
    ///   - reservation: The memory of the decode, retained until the work ends, even if the call is abandoned.
    ///   - isCancelled: Called several times a second.
    ///   - work: The call that waits, made on another thread. It must also make and free the loader, because freeing an unfinished
    ///     loader waits.
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
        // Running the call on this thread would make it impossible to abandon; and some loaders hang without threads.
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
        // These are glycin's messages for a missing process. The rest of the message is a command of many lines.
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

    /// Logs once that another process makes decoding slower.
    private func announce() {
        guard Self.isAnnounced.withLock({ !exchange(&$0, with: true) }) else { return }
        WebImageLog.notice(
            """
            gdk-pixbuf decodes \(name) in another process (glycin): each image takes some milliseconds more, and none is shown \
            in parts
            """
        )
    }

    /// Counts abandoned calls that have not ended.
    package final class CallsLeftBehind: Sendable {
        /// The calls of loaders in this process.
        static let ofProcess = CallsLeftBehind()
        /// The calls that wait for another process.
        static let elsewhere = CallsLeftBehind()

        private let number = Mutex(0)

        var count: Int { number.withLock { $0 } }

        func add(_ change: Int) { number.withLock { $0 += change } }
    }

    /// A call that is either waited for or abandoned.
    private final class Call: Sendable {
        private enum State: Sendable {
            case running
            case ended(Result<WebImage, ImageError>)
            case isLeft
        }

        let semaphore = DispatchSemaphore(value: 0)
        private let state = Mutex(State.running)

        /// - Returns: Whether the call was abandoned.
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

extension DecodeOptions {
    /// The largest SVG in bytes that is drawn in the process of the app, where its memory is not limited otherwise.
    static let largestDrawing = 16 << 20

    /// Throws if an SVG is too large for the process of the app.
    package func checkDrawing(_ data: Data) throws(ImageError) {
        // The memory of a decode worker is limited.
        guard data.count > Self.largestDrawing, !LoaderWait.isUnlimited else { return }
        let (count, limit) = Magnitude.bytes(data.count, exceeding: Self.largestDrawing)
        throw ImageError(
            .imageTooLarge,
            url: url,
            reason: "The SVG has \(count), more than the \(limit) that are drawn in the process of the app",
            remedy: "Decode in workers (decoding = .automatic), or use a smaller file."
        )
    }
}
