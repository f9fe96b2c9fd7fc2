internal import CWebImageShims
import Foundation
import Glibc
import Synchronization

/// A child process whose output a thread collects. It avoids fork(2), which would copy the page tables of this process, and
/// Foundation's Process, which would run a second run loop next to GLib's.
final class RunningProcess: Sendable {
    private let process: pid_t
    /// The output in chunks. An empty chunk marks its end.
    private let chunks = EventLog<[UInt8]>()
    /// The write end of the child's standard input; `nil` once closed.
    private let input: Mutex<Int32?>
    /// The status of waitpid(2), once the process has ended.
    private let status = Mutex<Int32?>(nil)

    /// - Parameters:
    ///   - command: A path, or a name to look up in PATH, and the arguments.
    ///   - environment: Variables to add to the environment of this process.
    ///   - hasInput: Whether standard input is a pipe that stays open until `closeInput()`. Otherwise it is /dev/null.
    init(_ command: [String], environment: [String: String], hasInput: Bool = false) throws {
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }.map { "\($0)=\($1)" }
        var words = command.map { strdup($0) } + [nil]
        var settings = variables.map { strdup($0) } + [nil]
        defer { for string in words + settings { free(string) } }
        var (input, output): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        if gwi_pipe(&output), !hasInput || gwi_pipe(&input) {
            process = gwi_spawn(&words, &settings, false, input[0], output[1])
        } else {
            process = -errno
        }
        // The child process has these ends.
        for descriptor in [input[0], output[1]] where descriptor >= 0 { close(descriptor) }
        guard process > 0 else {
            for descriptor in [input[1], output[0]] where descriptor >= 0 { close(descriptor) }
            throw ProcessError(description: "\(command[0]) cannot be started: \(String(cString: strerror(-process)))")
        }
        self.input = Mutex(hasInput ? input[1] : nil)
        let (chunks, descriptor) = (chunks, output[0])
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            var count = 0
            repeat {
                repeat { count = read(descriptor, &buffer, buffer.count) } while count < 0 && errno == EINTR
                chunks.add(Array(buffer.prefix(max(count, 0))))
            } while count > 0
            close(descriptor)
        }
    }

    var output: String { String(decoding: chunks.all.joined(), as: UTF8.self) }

    func waitForOutput<Found>(seconds: Double, _ find: (String) -> Found?) -> Found? {
        chunks.wait(atMost: .seconds(seconds)) { $0.last?.isEmpty == true || find(output) != nil }
        return find(output)
    }

    /// - Returns: Whether the program has closed its output, usually by ending.
    func waitForEndOfOutput(seconds: Double) -> Bool {
        chunks.wait(atMost: .seconds(seconds)) { $0.last?.isEmpty == true }
    }

    func closeInput() {
        if let descriptor = input.withLock({ exchange(&$0, with: nil) }) { close(descriptor) }
    }

    func kill() {
        // The number of the process is not reused before a thread has waited for the process.
        status.withLock { if $0 == nil { _ = Glibc.kill(process, SIGKILL) } }
    }

    func wait() {
        // Another thread can kill the process during this call, which does not hold the lock.
        var information = siginfo_t()
        while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        status.withLock { status in
            guard status == nil else { return }
            var ending: Int32 = 0
            while waitpid(process, &ending, 0) < 0, errno == EINTR {}
            status = ending
        }
    }

    /// The exit code after `wait()`; `nil` if a signal ended the program.
    var exitCode: Int32? { ending.flatMap { $0 & 0x7f == 0 ? $0 >> 8 & 0xff : nil } }

    /// The signal that ended the program, after `wait()`.
    var signal: Int32? { ending.flatMap { $0 & 0x7f == 0 ? nil : $0 & 0x7f } }

    private var ending: Int32? { status.withLock { $0 } }
}
