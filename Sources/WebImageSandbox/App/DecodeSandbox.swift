internal import CWebImageSandboxShims
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

    /// - Parameters:
    ///   - paths: The programs to start workers from. The first one that works is used. Default: the installed ones.
    ///   - limit: The largest number of files that are decoded at the same time.
    ///   - timeLimit: The processor time after which a decoder counts as hanging.
    ///   - patience: The factor on `timeLimit` after which a worker that gets no processor time, or does nothing, is ended.
    package init(paths: [String]? = nil, limit: Int, timeLimit: Duration = .seconds(30), patience: Int = 4) {
        let paths = paths ?? WorkerProgram.paths()
        let zygotes = WorkerKind.allCases.map { WorkerZygote(paths: paths, $0) }
        self.zygotes = zygotes
        func pool(_ kind: WorkerKind, limit: Int, timeLimit: Duration) -> WorkerPool {
            let limits = (processor: timeLimit, total: timeLimit * patience)
            return WorkerPool(zygotes[Int(kind.rawValue)], kind, limit: limit, timeLimits: limits)
        }
        pools = WorkerKind.allCases.map { kind in
            // The queue for slow decoders has few threads. The time that an SVG needs depends on the file alone.
            kind == .drawings
                ? pool(kind, limit: min(limit, 2), timeLimit: min(timeLimit, .seconds(10)))
                : pool(kind, limit: limit, timeLimit: timeLimit)
        }
        animations = pool(.codecs, limit: min(limit, 2), timeLimit: timeLimit)
    }

    /// The status, as far as it is known for all kinds of workers.
    package var status: SandboxStatus { SandboxStatus(pools.map(\.known)) }

    /// The worker processes.
    package var processes: [Int32] { (pools + [animations]).flatMap(\.processes) }

    /// The processes that workers are forked from.
    package var zygoteProcesses: [Int32] { zygotes.compactMap(\.process) }

    /// Whether a format is decoded in workers without rights, as far as is known. Drawings could read more than fonts without
    /// Landlock.
    package func isFenced(_ format: ImageFormat) -> Bool {
        guard Self.obstacle == nil else { return false }
        return format == .svg
            ? gwi_has_landlock() && gwi_has_seccomp() && pool(.drawings).canStart
            : (gwi_has_landlock() || gwi_has_seccomp()) && pool(.modules).canStart
    }

    /// Whether a worker of any kind has ever started, or was killed as it started.
    var hasStarted: Bool { pools.contains { $0.hasStarted || $0.isKilled } }

    /// The workers of a kind.
    func pool(_ kind: WorkerKind) -> WorkerPool { pools[Int(kind.rawValue)] }

    /// The workers that decode the frames of animations in files for workers of a kind.
    func framePool(_ kind: WorkerKind) -> WorkerPool { kind == .codecs ? animations : pool(kind) }

    /// A decoder that runs in workers.
    /// - Parameters:
    ///   - coder: The decoder, which the workers also have.
    ///   - isOptional: Whether images are decoded in this process if no worker starts. Resources of the app always are.
    ///   - neverHere: The formats that are decoded in this process only if the file is local.
    ///   - kind: The kind of worker for all formats but SVG, whose workers read fonts.
    ///   - isElsewhere: Whether another process already decodes a format, or no worker can.
    package func sandboxed(
        _ coder: any ImageDecoding,
        isOptional: Bool,
        neverHere: Set<ImageFormat>,
        in kind: WorkerKind,
        unless isElsewhere: (@Sendable (ImageFormat) -> Bool)? = nil
    ) -> any ImageDecoding {
        SandboxedCoder(
            coder: coder.extended,
            sandbox: self,
            isOptional: isOptional,
            neverHere: neverHere,
            kind: kind,
            isElsewhere: isElsewhere
        )
    }

    /// Starts the workers for the formats of the web, so that the first image does not wait for them.
    package func prepare() { pool(.codecs).prepare() }

    /// Ends the idle workers.
    package func endIdleWorkers() {
        for pool in pools + [animations] { pool.endIdleWorkers() }
    }
}
