internal import CWebImageSandboxShims
import FoundationEssentials
import Glibc
import Synchronization
package import WebImageCore

/// Decodes files in worker processes. All managers of an app share one sandbox.
package final class DecodeSandbox: Sendable {
    /// A sandbox without workers.
    package static let unavailable = DecodeSandbox(paths: [], limit: 1)

    /// Why this process has no sandbox; `nil` if it has one.
    package static let obstacle: String? =
        if gwi_has_foreign_rights() {
            "The program has more rights than its user, which it must not pass on"
        } else if gwi_is_sanitized() {
            "A sanitizer is linked, which a sandbox would stop"
        } else if !gwi_worker_is_in_program() {
            "The library is not part of the program, which can therefore not be started as a worker"
        } else {
            nil
        }

    private let zygotes: [WorkerZygote]
    /// The pools of workers that decode whole or arriving files, one for each kind.
    private let pools: [WorkerPool]
    /// The pool for the frames of GIF, PNG and WebP, which do not wait for large files.
    private let animations: WorkerPool
    private let timeLimit: Duration
    private let patience: Int
    private let handles = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - paths: The programs to start workers from. The first one that works is used. Default: the installed ones.
    ///   - limit: The largest number of files that are decoded at the same time.
    ///   - timeLimit: The processor time after which a decoder counts as hanging.
    ///   - patience: The factor on `timeLimit` after which a worker that gets no processor time, or does nothing, is ended.
    package init(paths: [String]? = nil, limit: Int, timeLimit: Duration = .seconds(30), patience: Int = 4) {
        let paths = paths ?? WorkerProgram.paths()
        zygotes = WorkerKind.allCases.map { WorkerZygote(paths: paths, $0) }
        // The queue for slow decoders has few threads.
        pools = zip(WorkerKind.allCases, zygotes).map { kind, zygote in
            WorkerPool(zygote, kind, limit: kind == .drawings ? min(limit, 2) : limit)
        }
        animations = WorkerPool(zygotes[Int(WorkerKind.codecs.rawValue)], .codecs, limit: min(limit, 2))
        (self.timeLimit, self.patience) = (timeLimit, patience)
    }

    /// The status, as far as it is known for all kinds of workers.
    package var status: SandboxStatus { SandboxStatus(pools.map(\.known)) }

    /// The worker processes.
    package var processes: [Int32] { (pools + [animations]).flatMap(\.processes) }

    /// The processes that workers are forked from.
    package var zygoteProcesses: [Int32] { zygotes.compactMap(\.process) }

    /// Whether workers can be started, as far as is known.
    func canStart(_ kind: WorkerKind) -> Bool { pool(kind).canStart }

    /// Whether a format is decoded in workers without rights, as far as is known. Drawings could read more than fonts without
    /// Landlock.
    package func isFenced(_ format: ImageFormat) -> Bool {
        guard Self.obstacle == nil else { return false }
        return format == .svg
            ? gwi_has_landlock() && gwi_has_seccomp() && canStart(.drawings)
            : (gwi_has_landlock() || gwi_has_seccomp()) && canStart(.modules)
    }

    /// Whether a worker of a kind has ever been ready.
    func hasStarted(_ kind: WorkerKind) -> Bool { pool(kind).hasStarted }

    /// Whether a worker of any kind has ever started, or was killed as it started.
    var hasStarted: Bool { pools.contains { $0.hasStarted || $0.isKilled } }

    private func pool(_ kind: WorkerKind) -> WorkerPool { pools[Int(kind.rawValue)] }

    /// Starts the workers for the formats of the web, so that the first image does not wait for them.
    package func prepare() { pool(.codecs).prepare() }

    /// Ends the idle workers.
    package func endIdleWorkers() {
        for pool in pools + [animations] { pool.endIdleWorkers() }
    }

    /// A unique handle for a file that a worker keeps.
    func makeHandle() -> UInt64 { handles.wrappingAdd(1, ordering: .relaxed).newValue }

    /// The worker that keeps a file, and its pool.
    struct Place: Sendable {
        let worker: DecodeWorker
        fileprivate let pool: WorkerPool
    }

    /// Performs a command that needs no particular worker. It is repeated if the worker did not start or was killed from outside.
    /// It is repeated once in a fresh worker if it fails in a worker that has seen other files, because these may be the cause.
    /// - Parameters:
    ///   - inAnimations: Whether the command concerns a frame of an animation.
    ///   - inFreshWorker: Whether the file may have ended a worker that had seen other files.
    func perform(
        _ command: DecodeCommand,
        _ data: Data?,
        by kind: WorkerKind,
        inAnimations: Bool = false,
        inFreshWorker: Bool = false,
        isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> (answer: DecodeAnswer, payload: DecodeWorker.Payload?, place: Place) {
        let pool = inAnimations && kind == .codecs ? animations : pool(kind)
        var (attempt, needsFresh) = (1, inFreshWorker)
        while true {
            let worker: DecodeWorker
            switch pool.take(needsFresh: needsFresh, isCancelled: isCancelled) {
            case .worker(let taken): worker = taken
            case .cancelled: throw .cancelled(command.options.url)
            case .none:
                let error = unavailable(command.options, pool.known.obstacle)
                // A worker has started before, so the cause will pass.
                throw pool.isKilled || pool.hasStarted ? error.dependingOnRequest() : error
            }
            worker.fileCount += 1
            if command.handle != 0 { worker.keep() }
            do throws(DecodeWorker.Failure) {
                let limit = kind == .drawings ? min(timeLimit, Self.drawingTimeLimit) : timeLimit
                let (answer, payload) = try perform(
                    command,
                    data,
                    with: worker,
                    of: pool,
                    within: limit,
                    until: isCancelled
                )
                return (answer, payload, Place(worker: worker, pool: pool))
            } catch {
                if case .notSent = error, command.handle != 0 { worker.forget(command.handle) }
                switch error {
                // The pool will soon report that there is none.
                case .notStarted where worker.fence == nil: continue
                case .notStarted, .ended(SIGKILL):
                    guard attempt < Self.mostAttempts else { throw lost(command.options) }
                    // A worker with files of other callers may end in a way that looks the same.
                    (attempt, needsFresh) = (attempt + 1, needsFresh || attempt > 2)
                case .timedOut(hadTime: false) where !needsFresh: needsFresh = true
                case .ended, .malformed, .timedOut, .doubtful:
                    guard worker.fileCount > 1 else { throw self.error(for: error, command.options) }
                    guard !needsFresh else { throw lost(command.options) }
                    needsFresh = true
                default: throw self.error(for: error, command.options)
                }
            }
        }
    }

    /// Performs a command on a file that a worker keeps.
    /// - Returns: The answer `unknown` if the worker has ended.
    func perform(
        _ command: DecodeCommand,
        _ data: Data?,
        at place: Place
    ) throws(ImageError) -> (answer: DecodeAnswer, payload: DecodeWorker.Payload?) {
        guard case .worker(let worker) = place.pool.take(place.worker.number) else { return (.unknown, nil) }
        do throws(DecodeWorker.Failure) {
            return try perform(command, data, with: worker, of: place.pool, within: timeLimit, until: { false })
        } catch {
            switch error {
            case .notStarted, .ended(SIGKILL): return (.unknown, nil)
            case .ended, .malformed, .timedOut: if place.worker.fileCount > 1 { return (.unknown, nil) }
            default: break
            }
            throw self.error(for: error, command.options)
        }
    }

    private func perform(
        _ command: DecodeCommand,
        _ data: Data?,
        with worker: DecodeWorker,
        of pool: WorkerPool,
        within timeLimit: Duration,
        until isCancelled: () -> Bool
    ) throws(DecodeWorker.Failure) -> (DecodeAnswer, DecodeWorker.Payload?) {
        do throws(DecodeWorker.Failure) {
            let limits = (timeLimit, timeLimit * patience)
            let answer = try worker.perform(command, data, within: limits, isCancelled: isCancelled)
            if case .failure(let error) = answer.0, error.isPermanent, error.unreservedPixelCount == nil,
                command.handle == 0, worker.fileCount > 1
            {
                throw .doubtful
            }
            pool.giveBack(worker, isAlive: true)
            return answer
        } catch {
            switch error {
            case .notSent: pool.giveBack(worker, isAlive: true)
            // The worker may keep arriving files that are intact.
            case .doubtful: pool.giveBack(worker, isAlive: worker.keepsFiles)
            default: pool.giveBack(worker, isAlive: false)
            }
            throw error
        }
    }

    private func unavailable(_ options: DecodeOptions, _ reason: String?) -> ImageError {
        ImageError(
            .decoderUnavailable,
            url: options.url,
            reason: "No decode worker can be started: \(reason ?? Self.obstacle ?? "the reason is not known")",
            remedy: """
                Let the app start its own program again (see Packaging), or set decoding of the manager's configuration to \
                .inProcess, if you trust the files.
                """
        )
    }

    private func error(for failure: DecodeWorker.Failure, _ options: DecodeOptions) -> ImageError {
        let how: String
        switch failure {
        case .cancelled: return .cancelled(options.url)
        case .notSent(let number): return notSent(number, options)
        case .notStarted, .doubtful, .timedOut(hadTime: false): return lost(options)
        case .timedOut:
            let error = ImageError(
                .decoderTimedOut,
                url: options.url,
                reason: "The decoder has not decoded the image in time, and was ended",
                remedy: "Check the file: it may have been made to keep decoders busy."
            )
            WebImageLog.notice("\(error)")
            return error
        case .ended(let signal): how = signal == 0 ? "by itself" : "by signal \(signal)"
        case .malformed: how = "after an answer that makes no sense"
        }
        let error = ImageError(
            .decoderCrashed,
            url: options.url,
            reason: "The decoder ended \(how) while it decoded the image, in a separate process",
            remedy: "Check the file: it may have been made to break decoders. Other images are not concerned."
        )
        WebImageLog.notice("\(error)")
        return error
    }

    private func notSent(_ number: Int32, _ options: DecodeOptions) -> ImageError {
        let (code, remedy): (ImageError.Code, String) =
            switch number {
            case EMFILE, ENFILE:
                (.decoderUnavailable, "Raise the limit for open files, or show fewer large images at a time.")
            case EFBIG: (.decoderUnavailable, "Raise the limit for the size of files, or set decoding to .inProcess.")
            default: (.imageTooLarge, "Decode fewer or smaller images at a time.")
            }
        return ImageError(
            code,
            url: options.url,
            reason: "A worker cannot get the file or give its pixels (\(String(cString: strerror(number))))",
            remedy: remedy
        )
        .dependingOnRequest()
    }

    /// The error of an image or a frame for which several workers were lost or got no processor time.
    func lost(_ options: DecodeOptions) -> ImageError {
        ImageError(
            .decoderUnavailable,
            url: options.url,
            reason: "Several decode workers were killed, or kept from working, before they were done with the image",
            remedy: "Find out what ends or stops them, such as a shortage of memory. A later load may succeed."
        )
        .dependingOnRequest()
    }

    /// The time that an SVG needs depends on the file alone.
    private static let drawingTimeLimit = Duration.seconds(10)
    /// The largest number of attempts if workers are killed from outside. All idle workers may have been killed.
    private static let mostAttempts = 10
}
