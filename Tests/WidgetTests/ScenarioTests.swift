import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageTesting

/// Runs each scenario of the target WidgetScenarios in a process of its own, whose main thread belongs to GTK.
@Suite("Widgets", .blocking)
struct ScenarioTests {
    /// What the program says of a scenario.
    private struct Listed {
        let name: String
        let tags: Set<String>
    }

    private struct ListingFailure: Error, CustomStringConvertible {
        let description: String
    }

    private static let listed: Result<[Listed], any Error> = Result {
        let result = try ChildProcess.run(Program.scenarios)
        guard result.exitCode == 0 else { throw ListingFailure(description: result.output) }
        return result.output.split(separator: "\n").map { line in
            let columns = line.split(separator: "\t", omittingEmptySubsequences: false)
            return Listed(name: String(columns[0]), tags: Set(columns.dropFirst().map(String.init)))
        }
    }

    /// The names of the scenarios with a tag, or of all. There are none when the program does not start; then "The program
    /// lists all scenarios" fails.
    private static func names(_ tag: String? = nil) -> [String] {
        let all = (try? listed.get()) ?? []
        return all.filter { tag == nil || $0.tags.contains(tag ?? "") }.map(\.name)
    }

    @Test("The program lists all scenarios, those for OpenGL and for dense screens among them")
    func listing() throws {
        let all = try Self.listed.get()
        #expect(all.count >= 100, "\(all.count) scenarios")
        #expect(Self.names("drawing").count >= 15)
        #expect(Self.names("density").count >= 8)
        #expect(Set(all.map(\.name)).count == all.count, "two scenarios have one name, and only one of them runs")
        #expect(all.reduce(into: Set()) { $0.formUnion($1.tags) } == ["drawing", "density", "without-broadway"])
    }

    @Test("Every list of scenarios in the sources is part of the program")
    func completeness() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "WidgetScenarios")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let sources = try files.filter { $0.pathExtension == "swift" }.map {
            try String(contentsOf: $0, encoding: .utf8)
        }
        let all = try #require(sources.firstNonNil { $0.firstMatch(of: /static let all: \[Scenario\] =([^}]*)/)?.1 })
        let used = Set(all.matches(of: /\w+/).map { String($0.0) })
        let lists = sources.flatMap { $0.matches(of: /static (?:let|var) (\w+): \[Scenario\]/).map { String($0.1) } }
        #expect(lists.count > 15)
        for list in lists where list != "all" { #expect(used.contains(list), "Scenario.all lacks \(list)") }
    }

    /// The scenarios that Broadway can draw, in two halves that run side by side.
    private static let onBroadway: (ArraySlice<String>, ArraySlice<String>) = {
        let excluded = Set(names("without-broadway"))
        let all = names().filter { !excluded.contains($0) }
        return (all.prefix(all.count / 2), all.suffix(all.count - all.count / 2))
    }()

    @Test("Each scenario of the first half holds on Broadway", .serialized, arguments: onBroadway.0)
    func firstOnBroadway(name: String) throws {
        try run(name, environment: [:])
    }

    @Test("Each scenario of the second half holds on Broadway", .serialized, arguments: onBroadway.1)
    func secondOnBroadway(name: String) throws {
        try run(name, environment: [:])
    }

    @Test(
        "Each scenario that Broadway cannot draw holds on an X server",
        .serialized,
        arguments: names("without-broadway")
    )
    func withoutBroadway(name: String) throws {
        try run(name, environment: ["GWI_DISPLAY": "xvfb"])
    }

    @Test(
        "Each scenario that depends on the renderer holds with OpenGL on an X server",
        .serialized,
        arguments: names("drawing")
    )
    func openGL(name: String) throws {
        try run(name, environment: ["GWI_DISPLAY": "xvfb"])
    }

    @Test(
        "Each scenario that depends on the scale factor holds on a dense screen",
        .serialized,
        arguments: names("density")
    )
    func dense(name: String) throws {
        try run(name, environment: ["GWI_DISPLAY": "xvfb", "GDK_SCALE": "2"])
    }

    @Test(
        "A wrapper that is created before gtk_init ends the program with a message that says what to do",
        .serialized,
        arguments: ["Picture", "Image", "Entry", "Button", "ToggleButton", "CheckButton", "MenuButton"]
    )
    func beforeInitialization(wrapper: String) throws {
        let result = try ChildProcess.run(Program.scenarios, ["--before-gtk-init", wrapper])
        #expect(result.exitCode != 0)
        #expect(result.output.contains("Call gtk_init first"), "\(result.output)")
    }

    @Test("A metered network and a machine that saves power are noticed")
    func constrainedSystem() throws {
        let bus = try SystemBus()
        try run(
            "The state of the network and of the power saver is that of GLib",
            environment: bus.environment.merging(["GWI_CONSTRAINED": "1"]) { $1 }
        )
    }

    @Test("Images load over HTTP where no GSettings schemas are installed, with a desktop that has a proxy")
    func withoutSchemas() throws {
        let folder = TemporaryDirectory()
        // Through glycin, gdk-pixbuf finds its loaders in a data folder, too.
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/glycin-loaders",
            withDestinationPath: "/usr/share/glycin-loaders"
        )
        try run(
            "An image is fetched, decoded and shown, and the completion is called when it is in place",
            environment: [
                "XDG_DATA_DIRS": folder.path, "XDG_DATA_HOME": folder.path, "GSETTINGS_SCHEMA_DIR": folder.path,
                "XDG_CURRENT_DESKTOP": "GNOME",
            ]
        )
    }

    @Test(
        "Each renderer draws images on Wayland, at both scales",
        .serialized,
        arguments: ["wayland", "wayland2"],
        ["opengl", "cairo", "vulkan"]
    )
    func wayland(display: String, renderer: String) throws {
        for scenario in [
            "The renderer that was asked for draws an image, decoded at the scale of the display",
            "Wide colours look the same with every version of GTK, and keep their gamut where GTK names it",
        ] {
            try run(scenario, environment: ["GWI_DISPLAY": display, "GSK_RENDERER": renderer])
        }
    }

    private func run(_ name: String, environment: [String: String]) throws {
        let result = try ChildProcess.run(Program.scenarios, [name], environment: Program.strict(environment))
        // The program ends with this status when the machine lacks what the scenario needs.
        if result.exitCode == 77 {
            #if compiler(>=6.3)
                try Test.cancel(Comment(rawValue: result.output))
            #else
                return
            #endif
        }
        #expect(result.exitCode == 0, "\(result.output)")
    }
}

extension Sequence {
    fileprivate func firstNonNil<T>(_ transform: (Element) throws -> T?) rethrows -> T? {
        for element in self {
            if let value = try transform(element) { return value }
        }
        return nil
    }
}
