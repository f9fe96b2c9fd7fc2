import Glibc
import Synchronization

/// An X server without a screen, where GTK draws with OpenGL as it does for people (in software).
public final class XvfbDisplay: Sendable {
    /// What a GTK program needs in its environment to use the display.
    public let environment: [String: String]
    private let server: Mutex<DaemonProcess?>

    private init(environment: [String: String], server: DaemonProcess) {
        self.environment = environment
        self.server = Mutex(server)
    }

    deinit {
        stop()
    }

    /// Starts the server on a free display. It ends with this process at the latest.
    /// - Throws: BroadwayDisplay/Failure when the Debian package xvfb is not installed.
    public static func start() throws -> XvfbDisplay {
        let server = try DaemonProcess(
            "Xvfb",
            // Without -noreset it begins anew when its last client leaves, and loses one that is just coming.
            ["-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp", "-noreset"],
            environment: [:]
        )
        // The number of the display is a line of its own, perhaps after warnings.
        guard let number = server.waitForOutput({ $0.split(separator: "\n").lazy.compactMap { Int($0) }.first }) else {
            server.stop()
            throw BroadwayDisplay.Failure(
                description: "Xvfb does not start (\(server.output)); is the Debian package xvfb installed?"
            )
        }
        let environment = [
            "DISPLAY": ":\(number)", "GDK_BACKEND": "x11", "GSK_RENDERER": "gl", "LIBGL_ALWAYS_SOFTWARE": "1",
            "GTK_A11Y": "none", "GSETTINGS_BACKEND": "memory",
        ]
        return XvfbDisplay(environment: environment, server: server)
    }

    /// Puts environment into that of this process, for a gtk_init that comes after.
    public func exportEnvironment() {
        for (name, value) in environment { setenv(name, value, 1) }
    }

    /// Ends the server.
    public func stop() {
        server.withLock { $0.take() }?.stop()
    }
}
