import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageTesting

/// Builds the package of Tests/Interop, whose apps use the library as apps on other GTK bindings do.
@Suite("Apps on other GTK bindings", .blocking, .serialized)
struct InteropTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    /// The library is compiled here a second time, and without what only debuggers and editors need.
    private static let buildArguments = [
        "build", "--package-path", root.appending(path: "Tests/Interop").path(), "--scratch-path",
        root.appending(path: ".build/interop").path(), "--disable-index-store", "-debug-info-format", "none",
    ]
    /// An optimized library takes twice as long to build.
    private static let environment = ["GWI_OPTIMIZE_DEBUG": "0"]
    private static let build = Result {
        try ChildProcess.run("swift", buildArguments, environment: environment, seconds: 550)
    }

    @Test(
        "The lines of README compile and show images in closures of a binding",
        arguments: ["Swift5App", "Swift6App", "DeclarativeApp"]
    )
    func app(name: String) throws {
        let build = try Self.build.get()
        #expect(build.exitCode == 0, "\(build.output)")
        let warnings = build.output.split(separator: "\n").filter {
            $0.contains("/Tests/Interop/") && $0.contains("warning: ")
        }
        #expect(warnings.isEmpty, "\(warnings)")
        // The gtk4-broadwayd of GTK 4.24 aborts in transitions.
        let display = try XvfbDisplay.start()
        defer { display.stop() }
        let image = Self.root.appending(path: "data/images/balloons.jpg").path()
        let result = try ChildProcess.run(
            Self.root.appending(path: ".build/interop/debug/\(name)").path(),
            [image],
            environment: Program.strict(display.environment)
        )
        #expect(result.exitCode == 0, "\(result.output)")
    }

    @Test("The compiler says what to write instead of what users write by mistake")
    func mistakes() throws {
        #expect(try Self.build.get().exitCode == 0)
        let file = Self.root.appending(path: "Tests/Interop/Sources/Mistakes/main.swift")
        let expected = try String(contentsOf: file, encoding: .utf8).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        .enumerated().compactMap { number, line -> (Int, Substring)? in
            line.hasPrefix("    ") ? line.firstRange(of: "  // ").map { (number + 1, line[$0.upperBound...]) } : nil
        }
        #expect(expected.count > 5)
        let build = try ChildProcess.run(
            "swift",
            Self.buildArguments + ["--target", "Mistakes"],
            environment: Self.environment.merging(["INTEROP_MISTAKES": "1"]) { $1 },
            seconds: 300
        )
        let errors = build.output.split(separator: "\n").filter { $0.contains("error: ") }
        for (number, text) in expected {
            let found = errors.filter { $0.contains("main.swift:\(number):") }
            #expect(found.contains { $0.contains(text) }, "line \(number): \(text); the compiler says: \(found)")
        }
        let lines = Set(expected.map { "main.swift:\($0.0):" })
        #expect(errors.allSatisfy { error in !error.contains("main.swift:") || lines.contains { error.contains($0) } })
    }
}
