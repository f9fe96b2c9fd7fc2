import Testing
import WebImageTesting

/// Each scenario of the target WidgetScenarios in a process of its own, where the main thread and its loop are GTK's.
@Suite("Widgets")
struct ScenarioTests {
    @Test("On broadway", arguments: Program.scenarioNames)
    func broadway(name: String) throws {
        try run(name, environment: [:])
    }

    @Test("With OpenGL on an X server", arguments: Program.scenarioNames.filter(Self.drawsSomething))
    func openGL(name: String) throws {
        try run(name, environment: ["GWI_DISPLAY": "xvfb"])
    }

    @Test("On a dense screen", arguments: Program.scenarioNames.filter(Self.dependsOnDensity))
    func dense(name: String) throws {
        try run(name, environment: ["GWI_DISPLAY": "xvfb", "GDK_SCALE": "2"])
    }

    private static func dependsOnDensity(_ name: String) -> Bool {
        [
            "An image is decoded for the density", "A GtkImage shows", "The icons of an entry", "In the middle of a",
            "A background covers", "Each indicator",
        ].contains { name.hasPrefix($0) }
    }

    /// Those where it matters how a renderer takes the textures.
    private static func drawsSomething(_ name: String) -> Bool {
        [
            "An image is fetched, decoded and shown",
            "The texture that GTK gets", "What has room for one child",
            "A texture that was drawn is released",
            "A widget that grows",
            "A progressive image", "In the middle of a", "A flip turns", "A background covers", "Each indicator",
            "A button shows the image of its state", "An image is decoded for the density", "A list of 10,000 rows",
        ].contains { name.hasPrefix($0) }
    }

    private func run(_ name: String, environment: [String: String]) throws {
        let result = try ChildProcess.run(Program.scenarios, [name], environment: Program.strict(environment))
        #expect(result.exitCode == 0, "\(result.output)")
    }
}
