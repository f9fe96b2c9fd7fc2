import TestSupport
import WebImageTesting

/// The display on which a test runs the gallery.
enum GalleryDisplay: String, CaseIterable {
    /// Broadway, on which frames come as fast as GTK draws them.
    case broadway
    /// The Xvfb display that the gallery starts with --headless, on which GTK draws with OpenGL.
    case xvfb
    /// A Wayland compositor, on which GTK draws with OpenGL.
    case wayland
    /// The same with two device pixels per application pixel.
    case denseWayland

    func runGallery(_ arguments: [String]) throws -> ChildProcess {
        switch self {
        case .broadway:
            let display = try BroadwayDisplay.start()
            defer { display.stop() }
            let environment = Program.strict(display.environment)
            return try ChildProcess.run(Program.gallery, arguments, environment: environment, seconds: 120)
        case .wayland, .denseWayland:
            let display = try WaylandDisplay.start(scale: self == .wayland ? 1 : 2)
            defer { display.stop() }
            let environment = Program.strict(display.environment)
            return try ChildProcess.run(Program.gallery, arguments, environment: environment, seconds: 120)
        case .xvfb:
            let environment = Program.strict([:])
            return try ChildProcess.run(
                Program.gallery,
                ["--headless"] + arguments,
                environment: environment,
                seconds: 120
            )
        }
    }
}
