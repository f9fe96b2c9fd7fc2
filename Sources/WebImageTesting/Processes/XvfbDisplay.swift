import Glibc
import Synchronization
public import WebImageCore

/// An X server without a screen (Xvfb), on which GTK draws with OpenGL in software. A test can look at the drawing, click, scroll
/// and type.
public final class XvfbDisplay: Sendable {
    /// The reason why a display could not be started.
    struct Failure: Error, CustomStringConvertible {
        /// The failed step and its cause.
        let description: String
    }

    /// The name of the display, as in DISPLAY.
    let name: String
    /// The environment variables that make a GTK program use the display.
    public let environment: [String: String]
    private let server: Mutex<DaemonProcess?>

    private init(name: String, environment: [String: String], server: DaemonProcess) {
        self.name = name
        self.environment = environment
        self.server = Mutex(server)
    }

    deinit {
        stop()
    }

    /// Starts the server on a free display. The server ends with this process at the latest.
    /// - Parameter size: The size of the screen in pixels. Default: 1280 x 900.
    /// - Throws: An error with the failed step and its cause, such as a missing Debian package xvfb.
    public static func start(size: PixelSize = PixelSize(width: 1280, height: 900)) throws -> XvfbDisplay {
        let server = try DaemonProcess(
            "Xvfb",
            // Without -noreset, the server restarts when its last client leaves, and drops a client that is connecting.
            ["-displayfd", "1", "-screen", "0", "\(size.width)x\(size.height)x24", "-nolisten", "tcp", "-noreset"],
            environment: [:]
        )
        // The display number is on a separate line, possibly after warnings.
        guard let number = server.waitForOutput({ $0.split(separator: "\n").lazy.compactMap { Int($0) }.first }) else {
            server.stop()
            throw Failure(description: "Xvfb does not start: \(server.output). Install the Debian package xvfb.")
        }
        let environment = [
            "DISPLAY": ":\(number)", "GDK_BACKEND": "x11", "GSK_RENDERER": "opengl", "LIBGL_ALWAYS_SOFTWARE": "1",
            "GTK_A11Y": "test", "GSETTINGS_BACKEND": "memory",
        ]
        return XvfbDisplay(name: ":\(number)", environment: environment, server: server)
    }

    /// Adds `environment` to the environment of this process. Call it before gtk_init.
    public func exportEnvironment() {
        for (name, value) in environment { setenv(name, value, 1) }
    }

    /// Stops the server. A GTK program that still uses the display exits.
    public func stop() {
        server.withLock { $0.take() }?.stop()
    }
}
