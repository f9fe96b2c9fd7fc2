import Synchronization

/// The outcome of a program that ran to its end.
package struct ChildProcess: Sendable {
    /// The exit code; `nil` if a signal ended the program.
    package let exitCode: Int32?
    /// The signal that ended the program.
    package let signal: Int32?
    /// Whether the program was killed because it ran too long.
    let isTimedOut: Bool
    /// The standard output and standard error of the program.
    package let output: String

    /// Runs a program and waits for it. Blocks the thread.
    /// - Parameters:
    ///   - executable: A path, or a name to look up in PATH.
    ///   - arguments: The arguments after the name of the program. Default: none.
    ///   - environment: Variables to add to the environment of this process.
    ///   - seconds: The time limit, after which the program is killed. Default: 300, which only a hang reaches.
    /// - Throws: `ProcessError` if the program cannot be started.
    package static func run(
        _ executable: String,
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        seconds: Double = 300
    ) throws -> ChildProcess {
        let process = try RunningProcess([executable] + arguments, environment: environment)
        let hasEnded = process.waitForEndOfOutput(seconds: seconds)
        if !hasEnded { process.kill() }
        process.wait()
        return ChildProcess(
            exitCode: process.exitCode,
            signal: process.signal,
            isTimedOut: !hasEnded,
            output: process.output
        )
    }
}

/// A helper program that ends with this process, even if this process crashes.
package final class DaemonProcess: Sendable {
    private let process: RunningProcess

    /// One shell starts the program. Another ends the program when standard input closes, which this process holds open.
    private static let script = """
        exec 3<&0
        "$@" </dev/null 3<&- &
        child=$!
        (read -r _ <&3; kill $child) >/dev/null 2>&1 &
        wait $child
        """

    /// Starts a program. A missing program ends at once.
    /// - Throws: `ProcessError` if no shell can be started.
    package init(_ program: String, _ arguments: [String], environment: [String: String]) throws {
        let command = ["sh", "-c", Self.script, "sh", program] + arguments
        process = try RunningProcess(command, environment: environment, hasInput: true)
    }

    deinit {
        stop()
    }

    /// The output so far, including standard error.
    package var output: String { process.output }

    /// Searches the output as it arrives.
    /// - Returns: The first non-`nil` result of `find`; `nil` if the program ends first, or after two minutes.
    package func waitForOutput<Found>(_ find: (String) -> Found?) -> Found? {
        process.waitForOutput(seconds: 120, find)
    }

    /// Waits for a program that ends on its own.
    /// - Returns: Its exit code, which is above 128 if a signal ended the program; `nil` if the program still runs.
    package func exitCode(within seconds: Double) -> Int32? {
        guard process.waitForEndOfOutput(seconds: seconds) else { return nil }
        process.wait()
        return process.exitCode
    }

    /// Ends the program and waits for it. Later calls do nothing.
    package func stop() {
        process.closeInput()
        process.wait()
    }
}

/// The reason why a program could not be started.
struct ProcessError: Error, CustomStringConvertible {
    let description: String
}
