internal import CWebImageGLib
import Foundation
import Glibc
import Synchronization

/// A program that serves this process and ends with it, whatever becomes of it.
///
/// posix_spawn, and a thread that reads: Foundation's Process runs a run loop of its own, which has no business in a process
/// whose main loop is GLib's.
final class DaemonProcess: Sendable {
    private let process: pid_t
    private let collected = EventLog<String>()
    private let isEnded = Mutex(false)

    /// - Throws: ``BroadwayDisplay/Failure`` when the program cannot be started at all.
    init(_ program: String, _ arguments: [String], environment: [String: String]) throws {
        var ends: [Int32] = [-1, -1]
        guard g_unix_open_pipe(&ends, FD_CLOEXEC, nil) != 0 else {
            throw BroadwayDisplay.Failure(description: "There are no descriptors left")
        }
        // The kernel ends the program when the thread that started it ends, also by a crash.
        let command = ["setpriv", "--pdeathsig", "TERM", program] + arguments
        let merged = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let (process, code) = Self.spawn(command, merged.map { "\($0)=\($1)" }, output: ends[1])
        Glibc.close(ends[1])
        guard code == 0 else {
            Glibc.close(ends[0])
            throw BroadwayDisplay.Failure(description: "\(program): \(String(cString: strerror(code)))")
        }
        self.process = process
        let (collected, descriptor) = (collected, ends[0])
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = Glibc.read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                collected.add(String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self))
                if count <= 0 { break }
            }
            Glibc.close(descriptor)
        }
    }

    /// What it has printed so far, errors included.
    var output: String { collected.all.joined() }

    /// Looks at the output as it comes, until something is found in it.
    /// - Returns: What was found; `nil` when the program ended before, or after ten seconds.
    func waitForOutput<Found>(_ find: (String) -> Found?) -> Found? {
        collected.wait(seconds: 10) { pieces in pieces.last == "" || find(pieces.joined()) != nil }
        return find(output)
    }

    /// Ends the program and waits for it.
    func stop() {
        let isFirst = isEnded.withLock { isEnded in
            defer { isEnded = true }
            return !isEnded
        }
        guard isFirst else { return }
        kill(process, SIGTERM)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
    }

    private static func spawn(_ command: [String], _ environment: [String], output: Int32) -> (pid_t, Int32) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, output, 2)
        var arguments = command.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { (arguments + variables).forEach { free($0) } }
        var process = pid_t()
        let code = posix_spawnp(&process, command[0], &actions, nil, &arguments, &variables)
        return (process, code)
    }
}
