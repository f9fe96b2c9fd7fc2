import Foundation
import Testing
import WebImageTesting

/// The rules of the house for the sources, which two scripts check.
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

    @Test("A cycle between folders and a broken rule are found", arguments: ["folders", "style"])
    func scripts(name: String) throws {
        let result = try ChildProcess.run("python3", ["\(Self.tests)/\(name)", "--self-test"])
        #expect(result.exitCode == 0, "\(result.output)")
    }
}
