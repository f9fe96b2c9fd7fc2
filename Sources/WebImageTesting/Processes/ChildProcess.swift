import Glibc

/// Runs a program to its end, as tests do with programs that need a main thread of their own.
package struct ChildProcess: Sendable {
    /// The exit code; nil when a signal ended it.
    package let exitCode: Int32?
    /// The signal that ended it.
    package let signal: Int32?
    /// Whether it was ended because it took too long.
    package let isTimedOut: Bool
    /// What it printed, errors included.
    package let output: String

    /// Runs a program and waits for it. Blocks the thread.
    /// - Parameters:
    ///   - executable: A path, or a name to be looked up in PATH.
    ///   - arguments: What comes after its name on the command line. Default: nothing.
    ///   - environment: Added to that of this process.
    ///   - seconds: How long it may take; then it is killed. Default: 60.
    /// - Throws: ServerError when it cannot be started at all.
    package static func run(
        _ executable: String,
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        seconds: Double = 60
    ) throws -> ChildProcess {
        let process = try SpawnedProcess([executable] + arguments, environment: environment)
        let isEnded = process.waitForEnd(seconds: seconds)
        if !isEnded { process.send(signal: SIGKILL) }
        let status = process.wait()
        let signal = status & 0x7F
        return ChildProcess(
            exitCode: signal == 0 ? status >> 8 & 0xFF : nil,
            signal: signal == 0 ? nil : signal,
            isTimedOut: !isEnded,
            output: process.output
        )
    }
}
