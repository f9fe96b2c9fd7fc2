import FoundationEssentials
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageLinux

@Suite("The memory that this process may use", .blocking, .serialized)
struct MemoryLimitTests {
    private let folder = TemporaryDirectory()

    private func write(_ text: String, to path: String) throws {
        let path = "\(folder.path)/\(path)"
        let directory = URL(filePath: path).deletingLastPathComponent().path()
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }

    private func limits(_ membership: String) throws -> MemoryLimits {
        try write(membership, to: "cgroup")
        return MemoryLimits(root: "\(folder.path)/sys", membership: "\(folder.path)/cgroup")
    }

    @Test("The lowest limit of a group and of those around it counts (version 2)")
    func version2() throws {
        try write("max\n", to: "sys/app.slice/app/memory.max")
        try write("400000000\n", to: "sys/app.slice/app/memory.high")
        try write("300000000\n", to: "sys/app.slice/memory.max")
        let limits = try limits("0::/app.slice/app\n")
        #expect(limits.lowest == 300_000_000)
        #expect(SystemResources.memorySize(within: limits) == 300_000_000)
    }

    @Test("In a container the limit of the mounted group counts, whatever path the host has")
    func container() throws {
        try write("268435456\n", to: "sys/memory.max")
        #expect(try limits("0::/../../system.slice/docker-1.scope\n").lowest == 268_435_456)
    }

    @Test("Version 1 has a hierarchy for memory, where a huge number means none")
    func version1() throws {
        try write("9223372036854771712\n", to: "sys/memory/docker/memory.limit_in_bytes")
        let groups = "12:cpu,cpuacct:/docker\n7:memory:/docker/1\n0::/\n"
        #expect(try limits(groups).lowest == nil)
        try write("268435456\n", to: "sys/memory/docker/1/memory.limit_in_bytes")
        #expect(try limits(groups).lowest == 268_435_456)
    }

    @Test("The memory of a machine that does not say how much it has counts as a gigabyte")
    func unknown() throws {
        let gigabytes = ["MemTotal:  2097152 kB\nMemFree: 1 kB\n": 2, "MemTotal: 640 kB": 1, "": 1]
        for (text, count) in gigabytes {
            try write(text, to: "meminfo")
            let limits = MemoryLimits(root: "/", membership: "/", information: "\(folder.path)/meminfo")
            #expect(SystemResources.memorySize(within: limits) == count << 30)
        }
    }

    @Test("Without limits, and with files that make no sense, the memory of the machine counts")
    func none() throws {
        let machine = SystemResources.memorySize(within: MemoryLimits(root: "/nowhere", membership: "/nowhere"))
        #expect(machine > 1 << 28)
        try write("-5", to: "sys/a/memory.max")
        try write("many", to: "sys/memory.max")
        for membership in ["", "0", "::::", "0::/a", "x:memory:/a"] {
            #expect(SystemResources.memorySize(within: try limits(membership)) == machine)
        }
    }

    @Test("An image for which memory runs out is an error and ends no process", arguments: [8, 72, 88, 136])
    func shortage(megabytes: Int) throws {
        // Given room for fewer copies of an image of 61 MB than its file needs
        let arguments = ["4000", "short", "\(megabytes)"]
        // When files of that size are read and written
        let result = try ChildProcess.run(
            BuiltProgram.path("DecodeWorker"),
            arguments,
            // GLib ends a process in which the thread of dconf cannot be made. The arena of a thread that has ended would have room
            // for an image.
            environment: ["GSETTINGS_BACKEND": "memory", "MALLOC_ARENA_MAX": "1"]
        )
        // Then each is done, or says that memory is short and what helps
        let lines = result.output.split(separator: "\n")
        #expect(result.exitCode == 0 && lines.count == 5, "\(result.output)")
        for line in lines where !line.hasSuffix(": done") {
            #expect(line.contains("There is no memory for") && line.contains(" smaller size"), "\(line)")
        }
        // Memory that was given back meanwhile may be enough for the JPEG, which has no alpha.
        #expect(megabytes > 8 || lines.dropLast().allSatisfy { !$0.hasSuffix(": done") }, "\(result.output)")
    }

    @Test("The limit of the address space counts, and the default limits follow")
    func addressSpace() throws {
        // A limit that no machine and no group has by itself
        let limit = (SystemResources.memorySize / 4 * 3) & ~0xFFFFF
        let script = "ulimit -v \(limit >> 10); exec \"$0\" x limit"
        let result = try ChildProcess.run("/bin/sh", ["-c", script, BuiltProgram.path("DecodeWorker")])
        let sizes = result.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        try #require(sizes.count == 3, "\(result.output)")
        #expect(sizes[0] == limit)
        #expect(sizes[1] <= limit / 8 && sizes[1] > 0)
        #expect(sizes[2] <= limit / 4 && sizes[2] > 0)
    }
}
