import Foundation
import Glibc
import Synchronization
package import WebImageCore
import WebImageTesting

/// A display without a screen: gtk4-broadwayd on 127.0.0.1, with BroadwayBrowser as its client.
///
/// Without a client, Broadway draws one frame per second. BroadwayBrowser answers the round trips, so that frames come
/// as fast as GTK draws them. Each daemon has its own runtime directory and port, so any number can run side by side.
package final class BroadwayDisplay: Sendable {
    /// The reason why a display could not be started.
    package struct Failure: Error, CustomStringConvertible {
        /// The failed step and its cause.
        package let description: String
    }

    /// The environment variables that make a GTK program use the display.
    package let environment: [String: String]
    /// The port on 127.0.0.1 at which a real browser can show the display, too.
    package let httpPort: UInt16
    private let browser: BroadwayBrowser
    private let directory: Mutex<TemporaryDirectory?>
    private let daemon: Mutex<DaemonProcess?>

    private init(
        environment: [String: String],
        httpPort: UInt16,
        browser: BroadwayBrowser,
        directory: TemporaryDirectory,
        daemon: DaemonProcess
    ) {
        self.environment = environment
        self.httpPort = httpPort
        self.browser = browser
        self.directory = Mutex(directory)
        self.daemon = Mutex(daemon)
    }

    deinit {
        stop()
    }

    /// Starts the daemon and the browser. They end with this process at the latest.
    /// - Parameters:
    ///   - width: The width of the screen in pixels. Default: 1280.
    ///   - height: The height of the screen in pixels. Default: 900.
    /// - Throws: `Failure` if the Debian package libgtk-4-bin is not installed or no port is free.
    package static func start(width: Int = 1280, height: Int = 900) throws -> BroadwayDisplay {
        let directory = TemporaryDirectory()
        guard !directory.path.isEmpty else { throw Failure(description: "The temporary directory cannot be created") }
        // Another process may take the port between the query and its use.
        var last = ""
        for _ in 0..<5 {
            let port = try freePort()
            let daemon = try DaemonProcess(
                "gtk4-broadwayd",
                ["--address", "127.0.0.1", "--port", "\(port)", ":7"],
                environment: ["XDG_RUNTIME_DIR": directory.path]
            )
            // The line announces the socket for programs; the one for browsers opens right after.
            let isReady = daemon.waitForOutput { $0.contains("Listening") ? true : nil } != nil
            guard isReady, let browser = connect(port: port, width: width, height: height) else {
                last = daemon.output
                daemon.stop()
                continue
            }
            let environment = [
                "GDK_BACKEND": "broadway", "BROADWAY_DISPLAY": ":7", "XDG_RUNTIME_DIR": directory.path,
                "GTK_A11Y": "test",
                "GSETTINGS_BACKEND": "memory",
            ]
            return BroadwayDisplay(
                environment: environment,
                httpPort: port,
                browser: browser,
                directory: directory,
                daemon: daemon
            )
        }
        throw Failure(
            description: "gtk4-broadwayd does not start: \(last). Install the Debian package libgtk-4-bin."
        )
    }

    /// Adds `environment` to the environment of this process. Call it before gtk_init.
    package func exportEnvironment() {
        for (name, value) in environment { setenv(name, value, 1) }
    }

    /// The number of frames that were acknowledged to the daemon.
    package var roundTripCount: Int { browser.roundTripCount }

    /// The visible windows from the bottom to the top, in application pixels of the page.
    package var windows: [PixelRect] { browser.windows }

    /// Changes the size of the page in the browser.
    package func resize(width: Int, height: Int) {
        browser.resize(width: width, height: height)
    }

    /// Clicks at a point of the topmost window, in application pixels.
    /// - Parameter button: The number of the button. Default: the left one.
    package func click(x: Int, y: Int, button: Int = 1) {
        browser.click(x: x, y: y, button: button)
    }

    /// Presses a key in the window that has the focus.
    /// - Parameters:
    ///   - key: Its GDK_KEY_ number.
    ///   - modifiers: The modifiers that are held, as a GdkModifierType. Default: none.
    package func press(key: Int, modifiers: Int = 0) {
        browser.press(key: key, modifiers: modifiers)
    }

    /// Stops the browser and the daemon. A GTK program that still uses the display exits.
    package func stop() {
        guard let daemon = daemon.withLock({ $0.take() }) else { return }
        browser.stop()
        daemon.stop()
        directory.withLock { $0 = nil }
    }

    private static func connect(port: UInt16, width: Int, height: Int) -> BroadwayBrowser? {
        for _ in 0..<500 {
            if let browser = BroadwayBrowser(port: port, width: width, height: height) { return browser }
            poll(nil, 0, 5)
        }
        return nil
    }

    private static func freePort() throws -> UInt16 {
        let socket = try ServerSocket.listen(port: 0)
        defer { socket.close() }
        return socket.localPort
    }
}
