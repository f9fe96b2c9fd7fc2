import Dispatch
import Foundation
import Synchronization
import WebImageCore
import WebImageLinux

// Decodes a file and says what became of it and how much memory that took:
// DecodeWorker FILE whole|full|scaled|wide|parts|shown|limit, DecodeWorker MILLISECONDS optional, DecodeWorker SIDE short MEGABYTES. An image is decoded for 200 x 200 pixels, full at its own size, scaled
// a little smaller, and wide the same with its wide colours. In parts, the file arrives; shown, twenty players show four frames of an animation; with limit, nothing is decoded, and the memory that the process
// may use is printed in bytes, with the default limits of the cache and of decodes.

let arguments = CommandLine.arguments
let (path, way) = (arguments[1], arguments[2])
if way == "limit" {
    let budget = SystemResources.loadingBudget
    print(SystemResources.memorySize, ImageManager.Configuration().maximumMemoryCacheByteCount, budget.decodingLimit)
    exit(0)
}

// What needs more memory than there is.
if way == "short", let side = Int(path), let megabytes = Int(arguments[3]) {
    try runShortOfMemory(side: side, megabytes: megabytes)
    exit(0)
}

// The exit during optional work that takes some milliseconds.
if way == "optional", let time = UInt32(path) {
    let hasStarted = DispatchSemaphore(value: 0)
    startOptionalWork {
        hasStarted.signal()
        usleep(time * 1000)
        print("ended")
    }
    hasStarted.wait()
    exit(0)
}

/// A number of kilobytes from /proc/self/status.
func kilobytes(_ name: String) -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") }
    return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
}

let size: DecodeSize =
    switch way {
    case "full": .original
    case "scaled": .contain(PixelSize(width: 3600, height: 3600))
    case "wide": .contain(PixelSize(width: 2800, height: 2800))
    default: .contain(PixelSize(width: 200, height: 200))
    }

/// Feeds a decoder as a slow server does.
func decodeInParts(_ data: Data) throws(ImageError) -> WebImage {
    let options = DecodeOptions(size: size)
    let format = ImageFormat(sniffing: data)
    guard
        let decoder = CoderRegistry.builtIn.decoder(for: format)?.makeIncrementalDecoder(for: format, options: options)
    else { throw options.badData("No parts of it can be decoded") }
    for offset in stride(from: 0, to: data.count, by: 16 << 10) {
        try decoder.append(Data(data.dropFirst(offset).prefix(16 << 10)))
        _ = decoder.partialImage()
    }
    return try decoder.finish(data)
}

let manager = {
    guard way != "wide" else {
        // As ImageManager does where GTK shows wide colours.
        let queue = WorkQueue(name: "decode", threadCount: 1)
        let budget = SystemResources.loadingBudget
        var dependencies = Pipeline.Dependencies(
            memoryCache: MemoryCache(costLimit: 1 << 30),
            dataCache: nil,
            loaders: LoaderRegistry([LocalLoader.files(queue: queue, maximumByteCount: 1 << 30, budget: budget)]),
            coders: .builtIn,
            dispatcher: InlineDispatcher(),
            ioQueue: queue,
            decodeQueue: queue
        )
        dependencies.budget = budget
        dependencies.keepsWideColors = true
        return ImageManager(dependencies: dependencies)
    }
    var configuration = ImageManager.Configuration()
    configuration.diskCache = nil
    // The memory of this process is measured.
    configuration.decoding = .inProcess
    return ImageManager(configuration: configuration)
}()

/// Loads a file as an app does.
func load(_ path: String) throws(ImageError) -> WebImage {
    let done = DispatchSemaphore(value: 0)
    let result = Mutex<Result<ImageResponse, ImageError>?>(nil)
    manager.load(ImageRequest(url: URL(filePath: path), decodeSize: size), on: InlineDispatcher()) { loaded in
        result.withLock { $0 = loaded }
        done.signal()
    }
    done.wait()
    return try result.withLock { $0! }.get().image
}

/// A GIF of one pixel, with which the libraries are loaded before memory is measured.
let pixel = Data(base64Encoded: "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")!
try pixel.write(to: URL(filePath: "\(path).pixel"))
_ = try? load("\(path).pixel")
// A new peak is measured from here on (proc(5)).
try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .ascii)
let before = kilobytes("VmHWM")
/// The most memory that decodes, canvases and bodies have reserved.
let reserved = Mutex(0)
Thread.detachNewThread {
    while true {
        let used = SystemResources.loadingBudget.used
        reserved.withLock { $0 = max($0, used.decoding + used.lasting + used.bodies) }
        usleep(100)
    }
}
var decoders: [any FrameDecoding] = []
do throws(ImageError) {
    let image =
        way == "parts" ? try decodeInParts((try? Data(contentsOf: URL(filePath: path))) ?? Data()) : try load(path)
    if way == "shown", let animation = image.animation {
        decoders = (0..<20).map { _ in animation.makeDecoder() }
        for decoder in decoders {
            for index in 0..<min(animation.frameCount, 2) { _ = try? decoder.frame(at: index) }
        }
    }
    print("image of \(image.naturalSize)")
} catch {
    print("\(error)")
}
print("reserved: \(reserved.withLock { $0 } >> 20)")
print("megabytes: \((kilobytes("VmHWM") - before) / 1024)")
