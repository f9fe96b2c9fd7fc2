import Foundation
import TestTraits
import Testing
import WebImageTesting

/// Depends on this package as apps do, as Tests/client says.
@Suite("A package that depends on the library", .blocking, .serialized)
struct ClientTests {
    private static let top = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    private static let isClone = FileManager.default.fileExists(atPath: "\(top)/.git")

    @Test(
        "A version, a branch and a path resolve, a version with unsafe flags is refused, and a program with one is built",
        .enabled(if: isClone, "The sources are no clone, whose commit could get a version.")
    )
    func dependencies() throws {
        let result = try ChildProcess.run("\(Self.top)/Tests/client", ["core"], seconds: 1200)
        #expect(result.exitCode == 0, "\(result.output)")
        let lines = Set(result.output.split(separator: "\n").map(String.init))
        for line in [
            "version (by-version): 0.1.0", "version (by-exact-version): 0.1.0",
            "a version with unsafe flags has: unsafe build flags", "the plan for a version: digraph",
            "the client prints (by-exact-version): 3",
        ] {
            #expect(lines.contains(line), "\(result.output)")
        }
    }
}
