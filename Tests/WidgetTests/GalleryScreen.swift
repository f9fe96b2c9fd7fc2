import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

/// An X server with a program on it, used with xdotool, which moves the pointer and presses keys.
final class GalleryScreen {
    private let display: XvfbDisplay
    private let program: DaemonProcess
    private let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-screen-\(UUID().uuidString)")

    /// - Parameters:
    ///   - program: The path of the program. Default: the gallery.
    ///   - isAnimated: Whether GTK animates its widgets. Default: yes. Without, a key changes what is on the screen at once.
    ///   - environment: Variables in addition to those of the display, on which GTK draws with cairo: software OpenGL would take
    ///     the processors from the program and from the tests beside it.
    init(
        _ arguments: [String],
        program: String = Program.gallery,
        isAnimated: Bool = true,
        environment: [String: String] = [:]
    ) throws {
        let settings = folder.appending(path: "config/gtk-4.0")
        try FileManager.default.createDirectory(at: settings, withIntermediateDirectories: true)
        if !isAnimated {
            let text = "[Settings]\ngtk-enable-animations=false\n"
            try Data(text.utf8).write(to: settings.appending(path: "settings.ini"))
        }
        display = try XvfbDisplay.start()
        self.program = try DaemonProcess(
            program,
            arguments,
            environment: display.environment
                .merging([
                    "XDG_CACHE_HOME": folder.path(), "XDG_CONFIG_HOME": folder.appending(path: "config").path(),
                    "GSK_RENDERER": "cairo",
                ]) { $1 }
                .merging(environment) { $1 }
        )
    }

    deinit {
        program.stop()
        display.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    var output: String { program.output }

    /// Whether the program has or soon opens a window with that title.
    func hasWindow(_ title: String) -> Bool {
        EventLog<Int>.poll(pause: 50_000) { run("xdotool", ["search", "--name", "^\(title)$"]) == 0 }
    }

    /// Whether a window has been drawn or soon is. Until then keys have no effect.
    var isDrawn: Bool {
        EventLog<Int>.poll(pause: 50_000) { (try? photograph().colors().count) ?? 0 > 100 }
    }

    /// The exit code of the program, which ends by itself; `nil` if it goes on.
    func exitCode(within seconds: Double = 120) -> Int32? { program.exitCode(within: seconds) }

    var hasAnyWindow: Bool { run("xdotool", ["search", "--name", "."]) == 0 }

    /// Searches a page of the gallery and opens it. The keys follow one another at once, as from somebody who knows the page.
    /// - Parameter text: What is typed. Default: the title.
    /// - Returns: Whether it is open.
    func openPage(_ title: String, searching text: String? = nil) -> Bool {
        // A window that is busy with a reload can lose the focus between two keys.
        for _ in 0..<3 {
            let keys = ["key", "ctrl+f", "type", "--delay", "1", "--args", "1", text ?? title, "key", "Return"]
            _ = run("xdotool", keys)
            if hasWindow(title) { return true }
        }
        return false
    }

    func press(_ key: String) {
        _ = run("xdotool", ["key", Self.keyCodes[key] ?? key])
    }

    /// Keys for which xdotool would press Alt as well with the keyboards of xkeyboard-config 2.48.
    private static let keyCodes = ["F5": "71", "F12": "96"]

    func type(_ text: String) {
        _ = run("xdotool", ["type", text])
    }

    func point(x: Int, y: Int) {
        _ = run("xdotool", ["mousemove", "\(x)", "\(y)"])
    }

    /// - Parameters:
    ///   - button: The number of the button: 1 is the left one, 5 turns the wheel down.
    ///   - times: How often it is pressed, at once.
    ///   - key: A key that is pressed at once afterwards.
    func click(x: Int, y: Int, button: Int = 1, times: Int = 1, key: String? = nil) {
        let clicks = ["click", "--repeat", "\(times)", "--delay", "1", "\(button)"]
        let press = key.map { ["key", Self.keyCodes[$0] ?? $0] } ?? []
        _ = run("xdotool", ["mousemove", "\(x)", "\(y)"] + clicks + press)
    }

    /// Presses the left button at a place, moves the pointer, and releases the button.
    func drag(from start: (x: Int, y: Int), to end: (x: Int, y: Int)) {
        let middle = ["mousemove", "\((start.x + end.x) / 2)", "\((start.y + end.y) / 2)"]
        let press = ["mousemove", "\(start.x)", "\(start.y)", "mousedown", "1"]
        _ = run("xdotool", press + middle + ["mousemove", "\(end.x)", "\(end.y)", "mouseup", "1"])
    }

    /// The bytes of memory that the program of a window has had at most, and those that it has (proc(5), VmHWM and VmRSS).
    func memory(of title: String) throws -> (peak: Int, now: Int) {
        let search = ["search", "--name", "^\(title)$", "getwindowpid"]
        let id = try ChildProcess.run("xdotool", search, environment: display.environment).output
        let status = try String(contentsOfFile: "/proc/\(id.filter(\.isNumber))/status", encoding: .utf8)
        func value(_ name: String) throws -> Int {
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("\(name):") })
            return try #require(Int(line.filter(\.isNumber))) * 1024
        }
        return (try value("VmHWM"), try value("VmRSS"))
    }

    func photograph() throws -> WebImage { try display.screenshot() }

    /// Whether something is to be seen on a screenshot, or soon is. A screenshot takes as much time as many frames, so there are
    /// at most four a second.
    func eventuallyShows(seconds: Double = 120, _ isSeen: (WebImage) -> Bool) throws -> Bool {
        try EventLog<Int>.poll(seconds: seconds, pause: 250_000) { try isSeen(photograph()) }
    }

    /// The pixels of the screen once it no longer changes.
    /// - Parameters:
    ///   - rows: The rows that rest, on a page where an animation moves in others.
    ///   - old: What it looked like before a change that is waited for.
    @discardableResult
    func settledPixels(
        rows: Range<Int>? = nil,
        after old: Data? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Data {
        var (last, current) = (Data(), Data())
        // A frame that OpenGL draws in software takes longer than a screenshot.
        let isSettled = try EventLog<Int>.poll(pause: 200_000) {
            let pixels = try photograph().pixels
            let (rows, length) = (rows ?? 0..<pixels.size.height, pixels.bytesPerRow)
            let part = rows.lowerBound * length..<rows.upperBound * length
            (last, current) = (current, pixels.withUnsafeBytes { Data($0[part]) })
            return current == last && current != old
        }
        #expect(isSettled, "\(output)", sourceLocation: sourceLocation)
        return current
    }

    private func run(_ program: String, _ arguments: [String]) -> Int32? {
        try? ChildProcess.run(program, arguments, environment: display.environment).exitCode
    }
}
