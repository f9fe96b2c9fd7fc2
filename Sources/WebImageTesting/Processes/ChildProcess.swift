internal import CWebImageGLib
import Foundation
import Glibc
import Synchronization
import WebImageLinux

/// The outcome of a program that ran to its end.
package struct ChildProcess: Sendable {
    /// The exit code; `nil` if a signal ended the program.
    package let exitCode: Int32?
    /// The signal that ended the program.
    package let signal: Int32?
    /// Whether the program was killed because it ran too long.
    package let isTimedOut: Bool
    /// The standard output and standard error of the program.
    package let output: String

    /// Runs a program and waits for it. Blocks the thread.
    /// - Parameters:
    ///   - executable: A path, or a name to look up in PATH.
    ///   - arguments: The arguments after the name of the program. Default: none.
    ///   - environment: Variables to add to the environment of this process.
    ///   - seconds: The time limit, after which the program is killed. Default: 60.
    /// - Throws: `ProcessError` if the program cannot be started.
    package static func run(
        _ executable: String,
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        seconds: Double = 60
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

/// A program that serves this process and ends together with it, even if this process crashes.
package final class DaemonProcess: Sendable {
    private let process: RunningProcess

    /// A shell starts the program. A second shell ends it when the standard input closes, which this process holds open.
    private static let script = """
        exec 3<&0
        "$@" </dev/null 3<&- &
        child=$!
        (read -r _ <&3; kill $child) >/dev/null 2>&1 &
        wait $child
        """

    /// Starts a program. A program that does not exist ends at once.
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
    /// - Returns: The first non-`nil` result of `find`; `nil` if the program ends before, or after ten seconds.
    package func waitForOutput<Found>(_ find: (String) -> Found?) -> Found? {
        process.waitForOutput(seconds: 10, find)
    }

    /// Waits for a program that ends by itself.
    /// - Returns: Its exit code, which is above 128 when a signal has ended it; `nil` if it still runs.
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
package struct ProcessError: Error, CustomStringConvertible {
    package let description: String
}

/// A GSubprocess whose output a thread collects. Foundation's Process would run a run loop of its own, next to the one
/// of GLib.
private final class RunningProcess: Sendable {
    private let process: GObjectBox
    /// The output in chunks. An empty chunk marks its end.
    private let chunks = EventLog<[UInt8]>()
    private let isInputOpen: Mutex<Bool>

    /// - Parameter hasInput: Whether standard input is a pipe that stays open until `closeInput()`. Otherwise it is
    ///   /dev/null.
    init(_ command: [String], environment: [String: String], hasInput: Bool = false) throws {
        var flags = gwi_subprocess_output.rawValue
        if hasInput { flags |= gwi_subprocess_input.rawValue }
        let launcher = g_subprocess_launcher_new(GSubprocessFlags(rawValue: flags))!
        defer { g_object_unref(UnsafeMutableRawPointer(launcher)) }
        for (name, value) in environment { g_subprocess_launcher_setenv(launcher, name, value, 1) }
        process = GObjectBox(adopting: try Self.spawn(command, launcher), releaseOn: .any)
        isInputOpen = Mutex(hasInput)
        let (process, chunks) = (process, chunks)
        Thread.detachNewThread {
            let stream = g_subprocess_get_stdout_pipe(process.opaquePointer)
            var buffer = [UInt8](repeating: 0, count: 65_536)
            var count = 0
            repeat {
                count = g_input_stream_read(stream, &buffer, gsize(buffer.count), nil, nil)
                chunks.add(Array(buffer.prefix(max(count, 0))))
            } while count > 0
        }
    }

    var output: String { String(decoding: chunks.all.joined(), as: UTF8.self) }

    func waitForOutput<Found>(seconds: Double, _ find: (String) -> Found?) -> Found? {
        chunks.wait(seconds: seconds) { $0.last?.isEmpty == true || find(output) != nil }
        return find(output)
    }

    /// - Returns: Whether the program has closed its output, which it does by ending.
    func waitForEndOfOutput(seconds: Double) -> Bool {
        chunks.wait(seconds: seconds) { $0.last?.isEmpty == true }
    }

    func closeInput() {
        let wasOpen = isInputOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        if wasOpen { g_output_stream_close(g_subprocess_get_stdin_pipe(process.opaquePointer), nil, nil) }
    }

    func kill() {
        g_subprocess_force_exit(process.opaquePointer)
    }

    func wait() {
        g_subprocess_wait(process.opaquePointer, nil, nil)
    }

    /// The exit code after `wait()`; `nil` if a signal ended the program.
    var exitCode: Int32? {
        let isExited = g_subprocess_get_if_exited(process.opaquePointer) != 0
        return isExited ? g_subprocess_get_exit_status(process.opaquePointer) : nil
    }

    /// The signal that ended the program, after `wait()`.
    var signal: Int32? {
        let isSignaled = g_subprocess_get_if_signaled(process.opaquePointer) != 0
        return isSignaled ? g_subprocess_get_term_sig(process.opaquePointer) : nil
    }

    private static func spawn(_ command: [String], _ launcher: OpaquePointer) throws -> UnsafeMutableRawPointer {
        var arguments = command.map { UnsafePointer(strdup($0)) } + [nil]
        defer { for argument in arguments { free(UnsafeMutablePointer(mutating: argument)) } }
        // Threads of libdispatch block all signals, and children inherit the mask: nothing could end them.
        var (none, previous) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
        var error: UnsafeMutablePointer<GError>?
        guard let process = g_subprocess_launcher_spawnv(launcher, &arguments, &error) else {
            defer { g_clear_error(&error) }
            let reason = error.map { String(cString: $0.pointee.message) } ?? "unknown error"
            throw ProcessError(description: "\(command[0]) cannot be started: \(reason)")
        }
        return UnsafeMutableRawPointer(process)
    }
}
