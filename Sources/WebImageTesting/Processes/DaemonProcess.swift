import Glibc

/// A program that serves this process and ends with it, whatever becomes of it.
struct DaemonProcess: Sendable {
    private let process: SpawnedProcess

    init(_ program: String, _ arguments: [String], environment: [String: String]) throws {
        // The kernel ends the program when the thread that started it ends, also by a crash.
        let command = ["setpriv", "--pdeathsig", "TERM", program] + arguments
        process = try SpawnedProcess(command, environment: environment)
    }

    /// What it has printed so far, errors included.
    var output: String { process.output }

    /// Looks at the output as it comes, until something is found in it.
    /// - Returns: What was found; `nil` when the program ended before, or after ten seconds.
    func waitForOutput<Found>(_ find: (String) -> Found?) -> Found? {
        process.waitForOutput(seconds: 10, find)
    }

    /// Ends the program and waits for it.
    func stop() {
        process.send(signal: SIGTERM)
        _ = process.wait()
    }
}
