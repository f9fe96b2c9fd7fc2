import Foundation
import Glibc
import Synchronization

/// A display without a screen: gtk4-broadwayd on 127.0.0.1, with a browser that is none.
///
/// Without a browser, broadway draws one frame a second; BroadwayBrowser answers its round trips, so frames come as
/// fast as GTK makes them. The daemon has a runtime directory and a port of its own, so that any number run side by
/// side.
public final class BroadwayDisplay: Sendable {
    /// Why a display could not be started.
    public struct Failure: Error, CustomStringConvertible {
        /// What was tried and what came of it.
        public let description: String
    }

    /// What a GTK program needs in its environment to use the display.
    public let environment: [String: String]
    /// The port on 127.0.0.1 at which a real browser may look, too.
    public let httpPort: UInt16
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
    ///   - width: Of the screen, in pixels. Default: 1280.
    ///   - height: Of the screen, in pixels. Default: 900.
    /// - Throws: Failure when the Debian package libgtk-4-bin is not installed or no port is free.
    public static func start(width: Int = 1280, height: Int = 900) throws -> BroadwayDisplay {
        let directory = TemporaryDirectory()
        guard !directory.path.isEmpty else { throw Failure(description: "No temporary directory can be made") }
        // Somebody may take the port between asking for it and using it.
        var last = ""
        for _ in 0..<5 {
            let port = try freePort()
            let daemon = try DaemonProcess(
                "gtk4-broadwayd",
                ["--address", "127.0.0.1", "--port", "\(port)", ":7"],
                environment: ["XDG_RUNTIME_DIR": directory.path]
            )
            // It says so of its socket for programs; the one for browsers follows.
            let isReady = daemon.waitForOutput { $0.contains("Listening") ? true : nil } != nil
            guard isReady, let browser = connect(port, width, height) else {
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
            description: "gtk4-broadwayd does not start (\(last)); is the Debian package libgtk-4-bin installed?"
        )
    }

    /// Puts environment into that of this process, for a gtk_init that comes after.
    public func exportEnvironment() {
        for (name, value) in environment { setenv(name, value, 1) }
    }

    /// How many frames the daemon has been told were drawn.
    public var roundTripCount: Int { browser.roundTripCount }

    /// Clicks with the left button at a point of the topmost window, in application pixels of that window.
    public func click(x: Int, y: Int) {
        browser.click(x: x, y: y)
    }

    /// Ends the browser and the daemon. A GTK program that still uses the display ends itself when it notices.
    public func stop() {
        guard let daemon = daemon.withLock({ $0.take() }) else { return }
        browser.stop()
        daemon.stop()
        directory.withLock { $0 = nil }
    }

    private static func connect(_ port: UInt16, _ width: Int, _ height: Int) -> BroadwayBrowser? {
        for _ in 0..<500 {
            if let browser = BroadwayBrowser(port, width, height) { return browser }
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
