import TestSupport
import WebImageTesting

/// The display on which a test runs the gallery.
enum GalleryDisplay: String, CaseIterable {
    /// Broadway, on which frames come as fast as GTK draws them.
    case broadway
    /// An Xvfb display on which GTK draws with cairo. Software OpenGL would take the processors from what is measured.
    case xvfb
    /// The Xvfb display that the gallery starts with --headless, on which GTK draws with OpenGL.
    case headless
    /// A Wayland compositor, on which GTK draws with OpenGL.
    case wayland
    /// The same with two device pixels per application pixel.
    case denseWayland

    /// The display on which lists scroll and images fade. The Broadway of GTK 4.24 aborts when a node of the last frame is in
    /// two places of the next (append_node_ops: assertion failed: !reused_node->consumed), as icons are since GTK draws them
    /// with GtkSvg.
    static let forScrolling: GalleryDisplay = {
        let isNewer = try? ChildProcess.run("pkg-config", ["--atleast-version=4.20", "gtk4"]).exitCode == 0
        return isNewer == true ? .xvfb : .broadway
    }()

    func runGallery(_ arguments: [String], seconds: Double = 300) throws -> ChildProcess {
        try withEnvironment { environment in
            let arguments = (self == .headless ? ["--headless"] : []) + arguments
            return try ChildProcess.run(
                Program.gallery,
                arguments,
                environment: Program.strict(environment),
                seconds: seconds
            )
        }
    }

    /// Starts the display for a program, with variables for its environment.
    func withEnvironment<Result>(_ run: ([String: String]) throws -> Result) throws -> Result {
        switch self {
        case .broadway:
            let display = try BroadwayDisplay.start()
            defer { display.stop() }
            return try run(display.environment)
        case .wayland, .denseWayland:
            let display = try WaylandDisplay.start(scale: self == .wayland ? 1 : 2)
            defer { display.stop() }
            return try run(display.environment)
        case .xvfb:
            let display = try XvfbDisplay.start()
            defer { display.stop() }
            return try run(display.environment.merging(["GSK_RENDERER": "cairo"]) { $1 })
        case .headless:
            return try run([:])
        }
    }
}
