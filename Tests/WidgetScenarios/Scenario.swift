import WebImageTesting

/// A test that needs a GTK main loop on the main thread, and so a process of its own.
struct Scenario: Sendable {
    /// What has to hold, as a sentence.
    let name: String
    let body: @MainActor () throws -> Void

    init(_ name: String, _ body: @escaping @MainActor () throws -> Void) {
        self.name = name
        self.body = body
    }

    static let all: [Scenario] =
        mainLoop + showing + placeholders + rebinding + lifetime + sizes + failures + refreshing + widgets + progressive
        + places + states + transitions + indicators + lists + interop + teardown + animations
}
