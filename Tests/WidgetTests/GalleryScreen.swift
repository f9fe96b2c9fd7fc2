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

    /// How often another image is seen in this one, a screenshot, at its own size. Small differences of scaling do not count.
    /// - Parameter size: The size of the part that is seen, the middle one.
    func count(of other: WebImage, size: PixelSize) -> Int {
        let (own, seen) = (pixels, other.pixels)
        let corner = (x: (seen.size.width - size.width) / 2, y: (seen.size.height - size.height) / 2)
        // Sixty-four points, in an order that looks all over the image before it looks closely.
        let points = (0..<64).map { index in
            let mixed = index * 37 % 64
            return (x: (mixed % 8 + 1) * size.width / 9, y: (mixed / 8 + 1) * size.height / 9)
        }
        var found: [(x: Int, y: Int)] = []
        own.withUnsafeBytes { bytes in
            seen.withUnsafeBytes { other in
                for y in 0..<max(0, own.size.height - size.height) {
                    for x in 0..<max(0, own.size.width - size.width) {
                        var (sum, count) = (0, 0)
                        for point in points {
                            let here = (y + point.y) * own.bytesPerRow + (x + point.x) * own.format.bytesPerPixel
                            let there =
                                (corner.y + point.y) * seen.bytesPerRow + (corner.x + point.x)
                                * seen.format.bytesPerPixel
                            for channel in 0..<3 {
                                sum += abs(Int(bytes[here + channel]) - Int(other[there + channel]))
                            }
                            count += 1
                            if sum > 300 + count * 39 { break }
                        }
                        let isNew = !found.contains {
                            abs($0.x - x) < size.width / 2 && abs($0.y - y) < size.height / 2
                        }
                        if count == points.count, sum < count * 39, isNew { found.append((x, y)) }
                    }
                }
            }
        }
        return found.count
    }
}
