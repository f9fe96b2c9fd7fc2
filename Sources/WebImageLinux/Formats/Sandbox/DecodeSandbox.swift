internal import CWebImageShims
import FoundationEssentials
import Glibc
import Synchronization
import WebImageCore

/// Decodes files in worker processes. All managers of an app share it.
package final class DecodeSandbox: Sendable {
    /// The sandbox of this app; `nil` where there can be none.
    package static let shared = DecodeSandbox()

    /// A sandbox without workers.
    static let unavailable = DecodeSandbox(path: "/dev/null", limit: 1)

    /// Why this process has no sandbox; `nil` when it has one.
    static let obstacle: String? = findObstacle()

    /// Decodes files, whole or arriving.
    private let files: WorkerPool
    /// Decodes the frames of animations, which do not wait for large files.
    private let animations: WorkerPool
    private let timeLimit: Duration
    private let handles = Mutex<UInt64>(0)

    private convenience init?() {
        guard Self.obstacle == nil else { return nil }
        self.init(limit: min(SystemResources.processorCount, 8))
    }

    /// - Parameters:
    ///   - path: The program of the workers. Default: that of the app, also when an update has replaced its file.
    ///   - limit: The most files that are decoded at a time.
    ///   - timeLimit: The time after which a decoder counts as hanging.
    package init(path: String = "/proc/self/exe", limit: Int, timeLimit: Duration = .seconds(30)) {
        files = WorkerPool(path: path, limit: limit)
        animations = WorkerPool(path: path, limit: min(limit, 2))
        self.timeLimit = timeLimit
    }

    private static func findObstacle() -> String? {
        if gwi_is_sanitized() { return "A sanitizer is linked, which a sandbox would stop" }
        if !gwi_worker_is_in_program() {
            return "The library is not part of the program, which can therefore not be started as a worker"
        }
        return nil
    }

    /// What is known of the sandbox.
    package var status: SandboxStatus { files.status }

    /// The worker processes.
    package var processes: [Int32] { files.processes + animations.processes }

    /// Whether workers can be started, as far as is known.
    var isAvailable: Bool {
        let status = files.status
        return status.isSandboxed || status == .notStarted
    }

    /// Starts the workers, so that the first image does not wait for them.
    package func prepare() { files.prepare() }

    /// Ends the workers that have nothing to do.
    package func endIdleWorkers() {
        files.endIdleWorkers()
        animations.endIdleWorkers()
    }

    /// A name for a file that a worker keeps.
    func makeHandle() -> UInt64 {
        handles.withLock { serial in
            serial += 1
            return serial
        }
    }

    /// Where a file that a worker keeps is, and the worker.
    struct Place: Sendable {
        let worker: DecodeWorker
        let isAnimation: Bool
    }

    /// Performs a command that needs no particular worker. It is repeated when somebody else has ended the worker.
    func perform(
        _ command: DecodeCommand,
        _ data: Data?,
        inAnimations isAnimation: Bool = false,
        isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> (answer: DecodeAnswer, payload: DecodeWorker.Payload?, place: Place) {
        var attempt = 1
        while true {
            let pool = isAnimation ? animations : files
            guard let worker = pool.take() else { throw unavailable(command.options) }
            do throws(DecodeWorker.Failure) {
                let (answer, payload) = try perform(command, data, with: worker, of: pool, until: isCancelled)
                return (answer, payload, Place(worker: worker, isAnimation: isAnimation))
            } catch {
                attempt += 1
                if case .ended(SIGKILL) = error, attempt <= Self.mostAttempts { continue }
                throw self.error(for: error, command.options)
            }
        }
    }

    /// Performs a command that concerns a file which a worker has.
    /// - Returns: The answer `unknown` when the worker has ended.
    func perform(
        _ command: DecodeCommand,
        _ data: Data?,
        at place: Place
    ) throws(ImageError) -> (answer: DecodeAnswer, payload: DecodeWorker.Payload?) {
        let pool = place.isAnimation ? animations : files
        guard let worker = pool.take(place.worker.number) else { return (.unknown, nil) }
        do throws(DecodeWorker.Failure) {
            return try perform(command, data, with: worker, of: pool, until: { false })
        } catch {
            if case .ended(SIGKILL) = error { return (.unknown, nil) }
            throw self.error(for: error, command.options)
        }
    }

    private func perform(
        _ command: DecodeCommand,
        _ data: Data?,
        with worker: DecodeWorker,
        of pool: WorkerPool,
        until isCancelled: () -> Bool
    ) throws(DecodeWorker.Failure) -> (DecodeAnswer, DecodeWorker.Payload?) {
        do throws(DecodeWorker.Failure) {
            let answer = try worker.perform(command, data, limit: timeLimit, isCancelled: isCancelled)
            pool.giveBack(worker, isAlive: true)
            return answer
        } catch {
            var isAlive = false
            if case .noMemory = error { isAlive = true }
            pool.giveBack(worker, isAlive: isAlive)
            throw error
        }
    }

    private func unavailable(_ options: DecodeOptions) -> ImageError {
        ImageError(
            .decoderUnavailable,
            url: options.url,
            reason: "No decode worker can be started",
            remedy: """
                Look into the log for the reason, or set decoding of the manager's configuration to .automatic or \
                .inProcess.
                """
        )
    }

    private func error(for failure: DecodeWorker.Failure, _ options: DecodeOptions) -> ImageError {
        switch failure {
        case .cancelled: return .cancelled(options.url)
        case .noMemory:
            var error = ImageError(
                .imageTooLarge,
                url: options.url,
                reason: "There is no memory to hand the file to a decode worker",
                remedy: "Decode fewer or smaller images at a time."
            )
            error.dependsOnRequest = true
            return error
        case .timedOut:
            return logged(
                ImageError(
                    .decoderTimedOut,
                    url: options.url,
                    reason: "The decoder has not decoded the image within \(timeLimit), and was ended",
                    remedy: "Check the file: it may have been made to keep decoders busy."
                )
            )
        case .ended(let signal):
            return logged(crashed(signal == 0 ? "by itself" : "by signal \(signal)", options))
        case .malformed: return logged(crashed("after an answer that makes no sense", options))
        }
    }

    private func crashed(_ how: String, _ options: DecodeOptions) -> ImageError {
        ImageError(
            .decoderCrashed,
            url: options.url,
            reason: "The decoder ended \(how) while it decoded the image, in a process of its own",
            remedy: "Check the file: it may have been made to break decoders. Other images are not concerned."
        )
    }

    private func logged(_ error: ImageError) -> ImageError {
        WebImageLog.notice("\(error)")
        return error
    }

    /// How often a command is tried whose worker was killed by somebody else.
    private static let mostAttempts = 5
}
