import Foundation
import TestSupport
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
    ///   - environment: Variables in addition to those of the display.
    init(
        _ arguments: [String],
        program: String = Program.gallery,
        environment: [String: String] = [:]
    ) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        display = try XvfbDisplay.start()
        self.program = try DaemonProcess(
            program,
            arguments,
            environment: display.environment.merging(["XDG_CACHE_HOME": folder.path()]) { $1 }
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
        EventLog<Int>.poll(seconds: 30) { run("xdotool", ["search", "--name", "^\(title)$"]) == 0 }
    }

    /// Whether a window has been drawn or soon is. Until then keys have no effect.
    var isDrawn: Bool {
        EventLog<Int>.poll(seconds: 30) { (try? photograph().colors().count) ?? 0 > 100 }
    }

    var hasAnyWindow: Bool { run("xdotool", ["search", "--name", "."]) == 0 }

    func press(_ key: String) {
        _ = run("xdotool", ["key", key])
    }

    func type(_ text: String) {
        _ = run("xdotool", ["type", text])
    }

    func point(x: Int, y: Int) {
        _ = run("xdotool", ["mousemove", "\(x)", "\(y)"])
    }

    /// - Parameter button: The number of the button: 1 is the left one, 5 turns the wheel down.
    func click(x: Int, y: Int, button: Int = 1) {
        _ = run("xdotool", ["mousemove", "\(x)", "\(y)", "click", "\(button)"])
    }

    /// A screenshot.
    func photograph() throws -> WebImage {
        let file = folder.appending(path: "screen.png")
        _ = run("import", ["-window", "root", file.path()])
        return try PNGCoder().decode(Data(contentsOf: file), options: DecodeOptions())
    }

    private func run(_ program: String, _ arguments: [String]) -> Int32? {
        try? ChildProcess.run(program, arguments, environment: display.environment, seconds: 20).exitCode
    }
}

extension WebImage {
    /// The number of pixels of each colour (0xRRGGBB) in the image or in a part of it.
    func colors(x: Range<Int>? = nil, y: Range<Int>? = nil) -> [UInt32: Int] {
        let size = pixels.size
        let (columns, rows) = ((x ?? 0..<size.width).clamped(to: 0..<size.width), (y ?? 0..<size.height))
        var counts: [UInt32: Int] = [:]
        pixels.withUnsafeBytes { bytes in
            for row in rows.clamped(to: 0..<size.height) {
                for column in columns {
                    let index = row * pixels.bytesPerRow + column * pixels.format.bytesPerPixel
                    let color = UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
                    counts[color, default: 0] += 1
                }
            }
        }
        return counts
    }
}
