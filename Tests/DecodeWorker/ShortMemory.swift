import Foundation
import WebImageCore
import WebImageLinux

/// Decodes and encodes images of a side while the address space has room for a number of megabytes more, and prints what became of
/// each. A process that wants memory in a way that cannot fail ends at the first of them.
func runShortOfMemory(side: Int, megabytes: Int) throws {
    let size = PixelSize(width: side, height: side)
    let image = gray(size)
    let small = gray(PixelSize(width: 2, height: 2))
    let file = announcing(side)
    var options = DecodeOptions()
    options.size = .contain(PixelSize(width: 64, height: 64))
    let formats = [ImageFormat.png, .webp, .gif, .jpeg]
    // The libraries are loaded before memory runs short.
    for format in formats { _ = try WebImage(pixels: small).data(as: format) }
    _ = try CoderRegistry.builtIn.decode(announcing(2), options: options)
    // So have the monitors started: GLib ends a process in which it starts no thread.
    while try threadNames().dropFirst().contains(where: { ["gwi-setup", "DecodeWorker"].contains($0) }) { usleep(1000) }
    try limitAddressSpace(to: megabytes << 20)
    report("read gif") { () throws(ImageError) in _ = try CoderRegistry.builtIn.decode(file, options: options) }
    for format in formats {
        report(format.rawValue) { () throws(ImageError) in
            _ = try CoderRegistry.builtIn.encode(WebImage(pixels: image), as: format)
        }
    }
}

private func gray(_ size: PixelSize) -> PixelBuffer {
    PixelBuffer(size: size, format: .rgbaPremultiplied) { memset($0.baseAddress!, 128, $0.count) }!
}

/// A GIF of 43 bytes that announces any number of pixels.
private func announcing(_ side: Int) -> Data {
    var file = Data(base64Encoded: "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")!
    for place in [6, 8, 32, 34] {
        file[place] = UInt8(side & 255)
        file[place + 1] = UInt8(side >> 8)
    }
    return file
}

private func report(_ name: String, _ work: () throws(ImageError) -> Void) {
    do throws(ImageError) {
        try work()
        print("\(name): done")
    } catch {
        print("\(name): \(error)")
    }
}

/// The names of the threads, that of the main thread first. A thread that has just started has the name of the program.
private func threadNames() throws -> [String] {
    let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").compactMap { Int($0) }
    return threads.sorted().compactMap { thread in
        // A thread may end meanwhile.
        try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8).trimmingCharacters(in: .newlines)
    }
}

private func limitAddressSpace(to room: Int) throws {
    let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).prefix { $0 != " " }
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    limit.rlim_cur = rlim_t(Int(pages)! * sysconf(Int32(_SC_PAGESIZE)) + room)
    setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
}
