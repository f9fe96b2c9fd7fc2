import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageTesting

/// The apps of Tests/Interop, which use the library as apps on other GTK bindings do.
@Suite("Apps on other GTK bindings", .blocking)
struct InteropTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test(
        "The lines of README compile and show images in closures of a binding",
        arguments: ["Swift5App", "Swift6App", "DeclarativeApp"]
    )
    func app(name: String) throws {
        // The gtk4-broadwayd of GTK 4.24 aborts in transitions.
        let display = try XvfbDisplay.start()
        defer { display.stop() }
        let image = Self.root.appending(path: "data/images/balloons.jpg").path()
        let result = try ChildProcess.run(
            BuiltProgram.path(name),
            [image],
            environment: Program.strict(display.environment)
        )
        #expect(result.exitCode == 0, "\(result.output)")
    }

    @Test("The compiler says what to write instead of what users write by mistake")
    func mistakes() throws {
        let file = Self.root.appending(path: "Tests/Interop/Mistakes/main.swift")
        let expected = try String(contentsOf: file, encoding: .utf8).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        .enumerated().compactMap { number, line -> (Int, Substring)? in
            line.hasPrefix("    ") ? line.firstRange(of: "  // ").map { (number + 1, line[$0.upperBound...]) } : nil
        }
        #expect(expected.count > 5)
        let build = try Compiler.check(file)
        let errors = build.output.split(separator: "\n").filter { $0.contains("error: ") }
        for (number, text) in expected {
            let found = errors.filter { $0.contains("main.swift:\(number):") }
            #expect(found.contains { $0.contains(text) }, "line \(number): \(text); the compiler says: \(found)")
        }
        let lines = Set(expected.map { "main.swift:\($0.0):" })
        #expect(errors.allSatisfy { error in !error.contains("main.swift:") || lines.contains { error.contains($0) } })
    }
}
