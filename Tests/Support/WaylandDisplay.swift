import Glibc
import Synchronization
import WebImageTesting

/// A Wayland compositor without a screen: weston with its headless backend.
package final class WaylandDisplay: Sendable {
    /// The reason why a display could not be started.
    package struct Failure: Error, CustomStringConvertible {
        /// The failed step and its cause.
        package let description: String
    }

    /// The environment variables that make a GTK program use the display.
    package let environment: [String: String]
    private let directory: Mutex<TemporaryDirectory?>
    private let compositor: Mutex<DaemonProcess?>

    private init(environment: [String: String], directory: TemporaryDirectory, compositor: DaemonProcess) {
        self.environment = environment
        self.directory = Mutex(directory)
        self.compositor = Mutex(compositor)
    }

    deinit {
        stop()
    }

    /// Starts the compositor. It ends with this process at the latest.
    /// - Parameters:
    ///   - scale: Device pixels per application pixel. Default: 1.
    ///   - renderer: The renderer of GTK, a value of GSK_RENDERER. Default: OpenGL.
    /// - Throws: `Failure` if the Debian package weston is not installed.
    package static func start(scale: Int = 1, renderer: String = "opengl") throws -> WaylandDisplay {
        let directory = TemporaryDirectory()
        guard !directory.path.isEmpty else { throw Failure(description: "The temporary directory cannot be created") }
        // The compositor refuses a directory that others may read.
        chmod(directory.path, 0o700)
        let compositor = try DaemonProcess(
            "weston",
            [
                "--backend=headless-backend.so", "--socket=gwi", "--width=1280", "--height=900", "--scale=\(scale)",
                "--idle-time=0", "--no-config",
            ],
            environment: ["XDG_RUNTIME_DIR": directory.path]
        )
        let isReady = EventLog<Int>.poll { accepts("\(directory.path)/gwi") }
        guard isReady else {
            compositor.stop()
            throw Failure(
                description: "weston does not start: \(compositor.output). Install the Debian package weston."
            )
        }
        let environment = [
            "XDG_RUNTIME_DIR": directory.path, "WAYLAND_DISPLAY": "gwi", "GDK_BACKEND": "wayland",
            "GSK_RENDERER": renderer, "LIBGL_ALWAYS_SOFTWARE": "1", "GTK_A11Y": "test", "GSETTINGS_BACKEND": "memory",
        ]
        return WaylandDisplay(environment: environment, directory: directory, compositor: compositor)
    }

    /// Whether the compositor accepts connections, which is a moment after its socket exists.
    private static func accepts(_ path: String) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    /// Adds `environment` to the environment of this process. Call it before gtk_init.
    package func exportEnvironment() {
        for (name, value) in environment { setenv(name, value, 1) }
    }

    /// Stops the compositor. A GTK program that still uses the display exits.
    package func stop() {
        compositor.withLock { $0.take() }?.stop()
        directory.withLock { $0 = nil }
    }
}
