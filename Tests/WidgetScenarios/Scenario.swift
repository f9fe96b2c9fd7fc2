import WebImageTesting

/// A test that needs a GTK main loop on the main thread and therefore runs in a process of its own.
struct Scenario: Sendable {
    /// Says on which displays, besides Broadway, a scenario runs.
    enum Tag: String {
        /// The renderer matters: the scenario also runs with OpenGL on an X server.
        case drawing
        /// The scale factor matters: the scenario also runs on an X server with two device pixels per application pixel.
        case density
        /// gtk4-broadwayd of GTK 4.24 ends when a render node appears twice in a frame (`append_node_ops: assertion failed:
        /// (!reused_node->consumed)`), so the scenario runs on an X server instead.
        case withoutBroadway = "without-broadway"
    }

    /// States what has to hold, as a sentence.
    let name: String
    let tags: [Tag]
    let body: @MainActor () throws -> Void

    init(_ name: String, _ tags: Tag..., body: @escaping @MainActor () throws -> Void) {
        self.name = name
        self.tags = tags
        self.body = body
    }

    /// The scenarios of all files. A test compares this list with the sources, so that no file is left out.
    static let all: [Scenario] =
        mainLoop + showing + placeholders + rebinding + lifetime + sizes + failures + refreshing + widgets + progressive
        + observation + places + states + transitions + indicators + lists + models + lazyRows + interop + names
        + teardown
        + animations
        + animationsInView + handlers + soaks + displays + trees + desktop + variants + focus + blending + interceptors
        + zoom + styles
        + inspector + inspectorViews + inspectorProblems + builder + builderExpressions + menus
}

/// Ends a scenario that cannot run on this machine. The test reports it as skipped.
struct Skipped: Error {
    /// The exit status of the program in this case.
    static let exitCode: Int32 = 77

    /// States what is missing.
    let reason: String
}
