internal import CWebImageGLib
import Glibc
import Synchronization

/// A program that serves this process and ends with it, whatever becomes of it.
package final class DaemonProcess: Sendable {
    private let process: SpawnedProcess
    /// The writing end of a pipe. When it is closed, by stop() or by the end of this process, the program is ended.
    private let lifeline: Mutex<Int32?>

    /// A shell starts the program, and a second one ends it when there is nothing more to be read from the pipe.
    private static let script = """
        exec 3<&0
        "$@" </dev/null 3<&- &
        child=$!
        (read -r _ <&3; kill $child) >/dev/null 2>&1 &
        wait $child
        """

    /// Starts a program.
    /// - Throws: ServerError when there is no shell to start it with; a program that does not exist ends at once.
    package init(_ program: String, _ arguments: [String], environment: [String: String]) throws {
        var ends: [Int32] = [-1, -1]
        guard g_unix_open_pipe(&ends, FD_CLOEXEC, nil) != 0 else { throw ServerError("pipe", EMFILE) }
        defer { close(ends[0]) }
        lifeline = Mutex(ends[1])
        let command = ["sh", "-c", Self.script, "sh", program] + arguments
        process = try SpawnedProcess(command, environment: environment, input: ends[0])
    }

    deinit {
        stop()
    }

    /// What it has printed so far, errors included.
    package var output: String { process.output }

    /// Looks at the output as it comes, until something is found in it.
    /// - Returns: What was found; nil when the program ended before, or after ten seconds.
    package func waitForOutput<Found>(_ find: (String) -> Found?) -> Found? {
        process.waitForOutput(seconds: 10, find)
    }

    /// Ends the program and waits for it.
    package func stop() {
        guard let end = lifeline.withLock({ $0.take() }) else { return }
        close(end)
        _ = process.wait()
    }
}
