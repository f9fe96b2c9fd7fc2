import Dispatch
import Foundation
import GtkWebImageZoom
import WebImageCore
import WebImageLinux

// Zooms through a large image as a view does, and says how long regions take: the whole image at an eighth of its size, a tile at its
// top, middle and bottom, and windows in many places. ZoomWorker FILE [COUNT] also prints the size of the image and the memory that it
// took, with COUNT windows at each scale (default: 8).

let path = CommandLine.arguments[1]
let windowCount = CommandLine.arguments.count > 2 ? Int(CommandLine.arguments[2]) ?? 8 : 8
let manager = {
    var configuration = ImageManager.Configuration()
    configuration.diskCache = nil
    // The memory of this process is measured.
    configuration.decoding = .inProcess
    return ImageManager(configuration: configuration)
}()

/// The most memory of this process in kilobytes, from /proc/self/status.
func peak() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
}

func time(_ name: String, _ body: () async throws(ImageError) -> Void) async throws(ImageError) {
    let start = ContinuousClock.now
    try await body()
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    print("\(name): \(seconds * 1000 + attoseconds / 1_000_000_000_000_000) ms")
}

func zoom() async throws(ImageError) -> PixelSize {
    let image = try await manager.tiledImage(for: URL(filePath: path))
    let size = image.size
    try await time("overview") { () async throws(ImageError) in _ = try await image.region(image.bounds, scale: 0.125) }
    for (name, y) in [("top", 0), ("middle", size.height / 2), ("bottom", size.height - 512)] {
        try await time("tile at the \(name)") { () async throws(ImageError) in
            _ = try await image.region(PixelRect(x: size.width / 2, y: y, width: 512, height: 512))
        }
    }
    for scale in [1, 0.5, 0.25] {
        for index in 0..<windowCount {
            let (width, height) = (Int(1280 / scale), Int(800 / scale))
            let x = index * 977 % max(size.width - width, 1)
            let y = index * 733 % max(size.height - height, 1)
            _ = try await image.region(PixelRect(x: x, y: y, width: width, height: height), scale: scale)
        }
    }
    return size
}

// The libraries are loaded before memory is measured. A new peak is measured from here on (proc(5)).
let pixel = URL(string: "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")!
_ = try? await manager.image(for: pixel)
try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .ascii)
let before = peak()
do {
    print("image of \(try await zoom())")
} catch {
    print("\(error)")
}
print("megabytes: \((peak() - before) / 1024)")
