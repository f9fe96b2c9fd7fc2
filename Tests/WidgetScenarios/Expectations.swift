import Synchronization

/// The expectations that failed in this process. The program prints them for the test that started it.
enum Expectations {
    private static let failures = Mutex<[String]>([])

    static var all: [String] { failures.withLock { $0 } }

    static func fail(_ message: String, _ file: StaticString, _ line: UInt) {
        let name = "\(file)".split(separator: "/").last.map(String.init) ?? "\(file)"
        failures.withLock { $0.append("\(name):\(line): \(message)") }
    }
}

/// Records a failure when the condition is false. The scenario continues.
func expect(
    _ condition: Bool,
    _ message: @autoclosure () -> String = "does not hold",
    file: StaticString = #fileID,
    line: UInt = #line
) {
    if !condition { Expectations.fail(message(), file, line) }
}

/// Records a failure with both values when they differ.
func expectEqual<T: Equatable>(
    _ value: T,
    _ expected: T,
    _ message: @autoclosure () -> String = "",
    file: StaticString = #fileID,
    line: UInt = #line
) {
    if value != expected { Expectations.fail("\(message()) is \(value), not \(expected)", file, line) }
}

/// Ends a scenario that lacks a required value.
struct Missing: Error {}

func require<T>(
    _ value: T?,
    _ message: @autoclosure () -> String = "is missing",
    file: StaticString = #fileID,
    line: UInt = #line
) throws -> T {
    guard let value else {
        Expectations.fail(message(), file, line)
        throw Missing()
    }
    return value
}
