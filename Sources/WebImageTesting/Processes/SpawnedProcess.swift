internal import CWebImageGLib
import Foundation
import Glibc
import Synchronization

/// A program that runs beside this one, its output collected.
///
/// posix_spawn, and a thread that reads: Foundation's Process runs a run loop of its own, which has no business in a
/// process whose main loop is GLib's.
final class SpawnedProcess: Sendable {
    private let identifier: pid_t
    private let collected: EventLog<String>
    private let status = Mutex<Int32?>(nil)

    /// - Parameters:
    ///   - command: The program, looked up in PATH, and its arguments.
    ///   - input: A descriptor to read from. Default: nothing to read.
    /// - Throws: ServerError when it cannot be started at all.
    init(_ command: [String], environment: [String: String], input: Int32? = nil) throws {
        var ends: [Int32] = [-1, -1]
        guard g_unix_open_pipe(&ends, FD_CLOEXEC, nil) != 0 else { throw ServerError("pipe", EMFILE) }
        let merged = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let variables = merged.map { "\($0)=\($1)" }
        let (identifier, code) = Self.spawn(command, variables, input: input, output: ends[1])
        Glibc.close(ends[1])
        guard code == 0 else {
            Glibc.close(ends[0])
            throw ServerError(command[0], code)
        }
        self.identifier = identifier
        let collected = EventLog<String>()
        self.collected = collected
        let descriptor = ends[0]
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = Glibc.read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                // Nothing marks the end.
                collected.add(String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self))
                if count <= 0 { break }
            }
            Glibc.close(descriptor)
        }
    }

    /// What it has printed so far, errors included.
    var output: String { collected.all.joined() }

    /// Looks at the output as it comes, until something is found in it.
    /// - Returns: What was found; nil when the program ended before, or when the time is up.
    func waitForOutput<Found>(seconds: Double, _ find: (String) -> Found?) -> Found? {
        collected.wait(seconds: seconds) { pieces in pieces.last == "" || find(pieces.joined()) != nil }
        return find(output)
    }

    /// - Returns: Whether it has closed its output, which programs do by ending.
    func waitForEnd(seconds: Double) -> Bool {
        collected.wait(seconds: seconds) { $0.last == "" }
    }

    func send(signal: Int32) {
        // Once it was waited for, its number may be another's.
        status.withLock { status in
            if status == nil { kill(identifier, signal) }
        }
    }

    /// Waits for its end.
    /// - Returns: Its status as waitpid(2) gives it.
    func wait() -> Int32 {
        status.withLock { status in
            if let status { return status }
            var ended: Int32 = 0
            while waitpid(identifier, &ended, 0) < 0, errno == EINTR {}
            status = ended
            return ended
        }
    }

    private static func spawn(
        _ command: [String],
        _ environment: [String],
        input: Int32?,
        output: Int32
    ) -> (pid_t, Int32) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, output, 2)
        // Threads of libdispatch block all signals, and children inherit that: nothing could end them.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var arguments = command.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { (arguments + variables).forEach { free($0) } }
        var identifier = pid_t()
        let code = posix_spawnp(&identifier, command[0], &actions, &attributes, &arguments, &variables)
        return (identifier, code)
    }
}
