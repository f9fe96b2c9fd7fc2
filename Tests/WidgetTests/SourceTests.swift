import Foundation
import Testing
import WebImageTesting

/// The rules of the house for the sources, which scripts check.
@Suite("The sources")
struct SourceTests {
    private static let tests = "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/")

    @Test("The folders of a target form no cycle")
    func folders() throws {
        let result = try ChildProcess.run("python3", ["\(Self.tests)/folders", "--check"])
        #expect(result.exitCode == 0, "\(result.output)")
    }

    @Test("Length of files, words, comments and parameters follow the rules of the house")
    func style() throws {
        let result = try ChildProcess.run("python3", ["\(Self.tests)/style"])
        #expect(result.exitCode == 0, "\(result.output)")
    }

    @Test("The library stays within its budgets, and its main path imports no door")
    func budget() throws {
        let result = try ChildProcess.run("python3", ["\(Self.tests)/budget"])
        #expect(result.exitCode == 0, "\(result.output)")
    }

    @Test("A budget that is exceeded is found", arguments: ["lines *", "c-lines", "public *", "package"])
    func exceededBudget(name: String) throws {
        let folder = TemporaryDirectory()
        let budgets = URL(filePath: folder.path + "/budgets")
        try Data("\(name) 1\n".utf8).write(to: budgets)
        let result = try ChildProcess.run("python3", ["\(Self.tests)/budget", "--budgets", budgets.path()])
        #expect(result.exitCode == 1)
        #expect(result.output.contains("\(name): "), "\(result.output)")
    }

    private static let aarch64 = Result { try ChildProcess.run("\(tests)/aarch64", ["--self-test"]) }

    @Test(
        "The C code compiles for aarch64, its filter of system calls is the one of that processor, and no code is for one alone",
        .enabled(
            if: (try? aarch64.get().exitCode) != 77,
            "Tests/aarch64 says why it is skipped: no headers, or that processor."
        )
    )
    func otherProcessor() throws {
        let result = try Self.aarch64.get()
        #expect(result.exitCode == 0, "\(result.output)")
        #expect(result.output.contains("Mistakes are found"), "\(result.output)")
    }

    @Test("A cycle between folders and a broken rule are found", arguments: ["folders", "style"])
    func scripts(name: String) throws {
        let result = try ChildProcess.run("python3", ["\(Self.tests)/\(name)", "--self-test"])
        #expect(result.exitCode == 0, "\(result.output)")
    }
}
