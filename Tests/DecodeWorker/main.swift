import Foundation
import WebImageCore
import WebImageLinux

// Decodes a file and says what became of it and how much memory that took:
// DecodeWorker FILE whole|parts|shown. In parts, the file arrives; shown, four players show all frames of an animation.

let arguments = CommandLine.arguments
let (path, way) = (arguments[1], arguments[2])

/// A number of kilobytes from /proc/self/status.
func kilobytes(_ name: String) -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") }
    return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
}

func decode(_ data: Data) throws(ImageError) -> WebImage {
    let options = DecodeOptions(size: .contain(PixelSize(width: 200, height: 200)))
    let registry = CoderRegistry.builtIn
    let format = ImageFormat(sniffing: data)
    guard way == "parts",
        let decoder = registry.decoder(for: format)?.makeIncrementalDecoder(for: format, options: options)
    else { return try registry.decode(data, options: options) }
    for offset in stride(from: 0, to: data.count, by: 16 << 10) {
        try decoder.append(Data(data.dropFirst(offset).prefix(16 << 10)))
        _ = decoder.partialImage()
    }
    return try decoder.finish(data)
}

/// A GIF of one pixel, with which the libraries are loaded before memory is measured.
let pixel = Data(base64Encoded: "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")!
_ = try? decode(pixel)
// A new peak is measured from here on (proc(5)).
try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .ascii)
let before = kilobytes("VmHWM")
let data = try Data(contentsOf: URL(filePath: path))
var decoders: [any FrameDecoding] = []
do throws(ImageError) {
    let image = try decode(data)
    if way == "shown", let animation = image.animation {
        decoders = (0..<4).map { _ in animation.makeDecoder() }
        for decoder in decoders {
            for index in 0..<min(animation.frameCount, 4) { _ = try? decoder.frame(at: index) }
        }
    }
    print("image of \(image.naturalSize)")
} catch {
    print("\(error)")
}
print("megabytes: \((kilobytes("VmHWM") - before) / 1024)")
