import ArgumentParser
import CAllocationCounter
import Foundation
import TestSupport
import WebImageTesting

struct Requests: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Time and allocations of a request: fetched and decoded, memory hit and miss, coalesced, cancelled."
    )

    @Flag(help: "Count instructions under valgrind instead, which is slow but the same on every machine.")
    var instructions = false

    /// Allocations of a load, with little slack above what it takes today.
    private static let limits: [RequestWork.Kind: Double] = [
        .load: 51, .hit: 1.1, .miss: 20, .coalesced: 12, .cancelled: 30,
    ]

    func run() throws {
        for kind in RequestWork.Kind.allCases {
            let work = RequestWork(kind)
            if instructions {
                // The cost of starting and setting up is part of both counts and cancels out.
                let few = try Instructions.count(["request-work", kind.rawValue, "\(kind.count / 10)"])
                let many = try Instructions.count(["request-work", kind.rawValue, "\(kind.count / 5)"])
                print("\(kind.title), each: \((many - few) / (kind.count / 10)) instructions")
            } else {
                let before = allocation_count()
                let time = ContinuousClock().measure { work.run(count: kind.count) }
                let allocations = Double(allocation_count() - before) / Double(kind.count)
                let microseconds = time / .microseconds(1) / Double(kind.count)
                print(
                    "\(kind.title), each: \(Rounds.format(microseconds)) us, \(Rounds.format(allocations)) allocations"
                )
                Limits.check("\(kind.title), allocations", allocations, atMost: Self.limits[kind] ?? 0)
            }
        }
    }
}

extension RequestWork.Kind: ExpressibleByArgument {}

/// The work that Requests runs under valgrind.
struct RequestWorkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "request-work", shouldDisplay: false)

    @Argument var kind: RequestWork.Kind
    @Argument var count: Int

    func run() {
        RequestWork(kind).run(count: count)
    }
}

enum Instructions {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The instructions that this program executes with other arguments, on all its threads.
    static func count(_ arguments: [String]) throws -> Int {
        // valgrind 3.19 cannot read the debugging information of Swift 6, so it gets a stripped copy.
        let folder = TemporaryDirectory()
        let program = "\(folder.path)/benchmarks"
        _ = try ChildProcess.run("strip", ["--strip-debug", "-o", program, "/proc/\(getpid())/exe"])
        let child = try ChildProcess.run(
            "valgrind",
            ["--tool=callgrind", "--callgrind-out-file=/dev/null", program] + arguments,
            seconds: 600
        )
        guard let line = child.output.split(separator: "\n").last(where: { $0.contains("Collected : ") }),
            let count = line.split(separator: " ").last.flatMap({ Int($0) })
        else {
            throw Failure(description: "valgrind prints no count of instructions. Install valgrind.")
        }
        return count
    }
}
