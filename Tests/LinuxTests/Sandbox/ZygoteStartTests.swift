import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageTesting

@testable import WebImageSandbox

/// Which programs become workers, and when the app's own does.
@Suite("The start of decode workers", .blocking, .serialized)
struct ZygoteStartTests {
    private let folder = TemporaryDirectory()

    private func file(_ mode: UInt16, owner: UInt32? = nil) throws -> String {
        let path = "\(folder.path)/\(WorkerProgram.name)"
        try? FileManager.default.removeItem(atPath: path)
        try Data("#!/bin/sh\n".utf8).write(to: URL(filePath: path))
        chmod(path, mode_t(mode))
        if let owner { try #require(chown(path, owner, owner) == 0) }
        return path
    }

    @Test("A program beside the app counts if nobody else can have put it there") func trust() throws {
        let app = "\(folder.path)/app"
        let path = try file(0o755)
        #expect(WorkerProgram.paths(besides: app) == [path, WorkerProgram.own])
        _ = try file(0o757)
        #expect(WorkerProgram.paths(besides: app) == [WorkerProgram.own])
        _ = try file(0o644)
        #expect(WorkerProgram.paths(besides: app) == [WorkerProgram.own])
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(WorkerProgram.paths(besides: app) == [WorkerProgram.own])
    }

    @Test("A program of another user does not count", .enabled(if: geteuid() == 0, "Only root gives files away."))
    func otherUser() throws {
        _ = try file(0o755, owner: 65534)
        #expect(WorkerProgram.paths(besides: "\(folder.path)/app") == [WorkerProgram.own])
    }

    @Test("A zygote whose app has ended meanwhile ends, rather than doing the work of the app again") func orphan()
        throws
    {
        // Given the socket of a process that has ended
        let script = """
            import os, socket, subprocess, sys
            ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            output = open(sys.argv[2], "w")
            if os.fork() == 0:
                os.dup2(ends[1].fileno(), 3)
                # When the program starts as its zygote
                result = subprocess.run([sys.argv[1]], stdout=output, close_fds=False, env={"GWI_DECODE_WORKER": "3:0"})
                print(f"exit {result.returncode}", end="", file=output, flush=True)
                os._exit(0)
            os.wait()
            """
        let output = "\(folder.path)/output"
        let result = try ChildProcess.run("python3", ["-c", script, BuiltProgram.path("SandboxedApp"), output])
        #expect(result.exitCode == 0, "\(result.output)")
        // Then it does not run its main function, which would print its protections
        #expect(try String(contentsOf: URL(filePath: output), encoding: .utf8) == "exit 0")
    }
}
