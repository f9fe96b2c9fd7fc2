import ArgumentParser
import CAllocationCounter
import CPlainDecoders
import Foundation
import TestSupport
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Measures decoding, format by format.
struct Decoding: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Milliseconds and peak memory of decoding in process, compared with the plain call of the C library."
    )

    @Option(help: "The number of measurements of each. Medians are shown.")
    var rounds = 9

    typealias Plain = (UnsafePointer<UInt8>?, Int, Int32, Int32) -> Bool

    func run() throws {
        let coders = CoderRegistry.builtIn
        let jpeg = Photograph.jpeg(seed: 1)
        let photo = try coders.decode(jpeg)
        let folder = TemporaryDirectory()
        let files = try Self.make(photo, coders, folder.path)
        let small = PixelSize(width: 256, height: 192)
        print("1600x1200, whole and at \(small): the library, the plain call, their ratio; peak of allocated bytes")
        for (name, data, plain) in [("JPEG", jpeg, plain_jpeg as Plain)] + files {
            for size in [nil, small] {
                try compare(name, data, size, coders, plain)
            }
        }
        let modules = try moduleFiles(folder.path)
        for file in modules {
            for size in [nil, small] { try compare(file, size, coders) }
        }
        print("At once, and in pieces of 16 KiB with partial images")
        for (name, data, _) in [("JPEG", jpeg, plain_jpeg as Plain)] + files where name != "TIFF" && name != "BMP" {
            try progressive(name, data, coders)
        }
        for file in modules where file.data.starts(with: [0xFF, 0x0A]) { try progressive(file.name, file.data, coders) }
        try thumbnails(folder.path)
        print("All frames of an animation of 480x360, once")
        try animations(folder.path, coders)
    }

    private static func make(
        _ photo: WebImage,
        _ coders: CoderRegistry,
        _ folder: String
    ) throws -> [(String, Data, Plain)] {
        let png = try coders.encode(photo, as: .png)
        let file = "\(folder)/photo.png"
        try png.write(to: URL(filePath: file))
        func convert(_ name: String, _ arguments: [String] = []) throws -> Data {
            let result = try ChildProcess.run("convert", [file] + arguments + ["\(folder)/\(name)"])
            precondition(result.exitCode == 0, result.output)
            return try Data(contentsOf: URL(filePath: "\(folder)/\(name)"))
        }
        let pixbuf: Plain = { plain_pixbuf($0, $1, $2, $3, 0) }
        return [
            ("progressive JPEG", try convert("p.jpg", ["-interlace", "JPEG", "-quality", "90"]), plain_jpeg),
            ("PNG", png, plain_png), ("WebP", try coders.encode(photo, as: .webp), plain_webp),
            ("GIF", try convert("photo.gif"), pixbuf), ("TIFF", try convert("photo.tiff"), pixbuf),
            ("BMP", try convert("photo.bmp"), pixbuf),
        ]
    }

    func compare(
        _ name: String,
        _ data: Data,
        _ size: PixelSize?,
        _ coders: CoderRegistry,
        _ plain: Plain,
        atMost limit: Double = 1.35
    ) throws {
        var measured = Rounds()
        var (ours, theirs) = (0, 0)
        let options = DecodeOptions(size: size.map { .contain($0) } ?? .original)
        for _ in 0..<rounds {
            ours = try peak { try measured.measure("ours") { _ = try coders.decode(data, options: options) } }
            theirs = peak {
                measured.measure("plain") {
                    let isRead = data.withUnsafeBytes {
                        plain(
                            $0.bindMemory(to: UInt8.self).baseAddress,
                            $0.count,
                            Int32(size?.width ?? 0),
                            Int32(size?.height ?? 0)
                        )
                    }
                    precondition(isRead, "\(name) is not decoded")
                }
            }
        }
        let times = ["ours", "plain"].map { Rounds.format(Rounds.median(measured.seconds[$0] ?? []) * 1000) }
        let ratio = measured.ratio("ours", to: "plain")
        Limits.check("\(name)\(size == nil ? "" : ", small"), to the plain call", ratio, atMost: limit)
        let what = "\(name)\(size.map { " at \($0)" } ?? "")".padding(toLength: 28, withPad: " ", startingAt: 0)
        print(
            "\(what) \(times[0]) ms, \(times[1]) ms, \(Rounds.format(ratio)); \(Self.megabytes(ours)), \(Self.megabytes(theirs))"
        )
    }

    private func progressive(_ name: String, _ data: Data, _ coders: CoderRegistry) throws {
        let format = ImageFormat(sniffing: data)
        let coder = coders.decoder(for: format)!
        guard coder.makeIncrementalDecoder(for: format, options: DecodeOptions()) != nil else { return }
        var measured = Rounds()
        var count = 0
        for _ in 0..<rounds {
            try measured.measure("at once") { _ = try coder.decode(data, options: DecodeOptions()) }
            // The manager makes a partial image ten times a second, however quickly the bytes arrive.
            for (kind, every) in [("pieces", Int.max), ("partial", 8)] {
                try measured.measure(kind) {
                    let decoder = coder.makeIncrementalDecoder(for: format, options: DecodeOptions())!
                    count = 0
                    for offset in stride(from: 0, to: data.count, by: 16384) {
                        try decoder.append(data.subdata(in: offset..<min(offset + 16384, data.count)))
                        count += 1
                        if count % every == 0 { _ = decoder.partialImage() }
                    }
                    _ = try decoder.finish(data)
                }
            }
        }
        let pieces = Rounds.format(measured.ratio("pieces", to: "at once"))
        let partial = Rounds.format(measured.ratio("partial", to: "at once"))
        print("\(name): \(count) pieces, \(pieces) of at once; with \(count / 8) partial images \(partial)")
    }

    private func animations(_ folder: String, _ coders: CoderRegistry) throws {
        let gif = try Animation.gif(in: folder)
        let webp = try Animation.webp(in: folder)
        let rivals: [(String, Data, (UnsafePointer<UInt8>?, Int) -> Bool)] = [
            ("GIF", gif, plain_pixbuf_animation), ("WebP", webp, plain_webp_animation),
        ]
        for (name, data, plain) in rivals {
            var measured = Rounds()
            var frameCount = 0
            for _ in 0..<rounds {
                try measured.measure("ours") {
                    let animation = try coders.decode(data).animation!
                    let decoder = animation.makeDecoder()
                    frameCount = animation.frameCount
                    for index in 0..<frameCount { _ = try decoder.frame(at: index) }
                }
                measured.measure("plain") {
                    _ = data.withUnsafeBytes { plain($0.bindMemory(to: UInt8.self).baseAddress, $0.count) }
                }
            }
            let times = ["ours", "plain"].map { Rounds.format(Rounds.median(measured.seconds[$0] ?? []) * 1000) }
            let ratio = measured.ratio("ours", to: "plain")
            print("\(name), \(frameCount) frames: \(times[0]) ms, \(times[1]) ms, \(Rounds.format(ratio))")
            Limits.check("\(name), frames, to the plain call", ratio, atMost: name == "GIF" ? 0.4 : 1.35)
        }
    }

    private func peak(_ body: () throws -> Void) rethrows -> Int {
        allocated_peak_reset()
        let before = allocated_bytes()
        try body()
        return allocated_peak() - before
    }

    private static func megabytes(_ bytes: Int) -> String { "\(Rounds.format(Double(bytes) / 1e6)) MB" }
}

/// A moving pattern of ten seconds at 25 frames a second.
enum Animation {
    static func gif(in folder: String) throws -> Data {
        let size = PixelSize(width: 480, height: 360)
        for index in 0..<50 {
            let frame = TestImage.make(size: size, format: .bmp) { x, y in
                let (u, v) = (x + index * 4, y - index * 2)
                let wave = (u * u / 300 + v * v / 200) & 255
                return UInt32(wave) << 16 | UInt32((u / 2) & 255) << 8 | UInt32((v / 3 + wave / 2) & 255)
            }
            try frame.write(to: URL(filePath: "\(folder)/frame\(String(1000 + index)).bmp"))
        }
        let names = (0..<250).map { "\(folder)/frame\(1000 + $0 % 50).bmp" }
        let result = try ChildProcess.run(
            "convert",
            ["-delay", "4", "-loop", "0"] + names + ["-layers", "OptimizeFrame", "\(folder)/animation.gif"],
            seconds: 300
        )
        precondition(result.exitCode == 0, result.output)
        return try Data(contentsOf: URL(filePath: "\(folder)/animation.gif"))
    }

    /// The same animation as WebP, made from the file of gif(in:).
    static func webp(in folder: String) throws -> Data {
        let result = try ChildProcess.run(
            "gif2webp",
            ["-lossy", "-m", "0", "\(folder)/animation.gif", "-o", "\(folder)/animation.webp"],
            seconds: 300
        )
        precondition(result.exitCode == 0, result.output)
        return try Data(contentsOf: URL(filePath: "\(folder)/animation.webp"))
    }
}
