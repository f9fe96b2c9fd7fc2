import ArgumentParser
import FoundationEssentials
import TestSupport
import WebImageCore
import WebImageTesting

/// A generated image that compresses like a photograph: soft shapes with some grain.
enum Photograph {
    /// Starts a server with that many files, which repeat.
    /// - Parameter images: The contents of the first files. Default: 16 generated ones.
    static func serve(count: Int, images: [Data]? = nil) throws -> (server: Nginx, urls: [URL]) {
        let images = images ?? (0..<16).map { jpeg(seed: $0) }
        let names = (0..<count).map { "\($0).jpg" }
        let files = names.enumerated().map { ($1, images[$0 % images.count]) }
        let nginx = try Nginx(files: Dictionary(uniqueKeysWithValues: files))
        return (nginx, names.map { nginx.freshURL($0) })
    }

    /// Writes that many files, whose contents repeat.
    static func write(count: Int, to directory: String) throws -> [URL] {
        let images = (0..<16).map { jpeg(seed: $0) }
        return try (0..<count).map { number in
            let url = URL(filePath: "\(directory)/\(number).jpg")
            try images[number % images.count].write(to: url)
            return url
        }
    }

    /// The size of a photograph as a page of the web shows it.
    static let size = PixelSize(width: 1600, height: 1200)

    static func jpeg(seed: Int, size: PixelSize = size) -> Data { file(seed: seed, size: size, format: .jpeg) }

    /// The same with several scans, made by jpegtran.
    /// - Parameter folder: A folder for temporary files.
    static func progressiveJPEG(seed: Int, size: PixelSize = size, in folder: String) throws -> Data {
        let (source, target) = ("\(folder)/source.jpg", "\(folder)/progressive.jpg")
        try jpeg(seed: seed, size: size).write(to: URL(filePath: source))
        let result = try ChildProcess.run("jpegtran", ["-progressive", "-outfile", target, source])
        guard result.exitCode == 0 else { throw ValidationError("jpegtran: \(result.output)") }
        return try Data(contentsOf: URL(filePath: target))
    }

    static func file(seed: Int, size: PixelSize, format: TestImage.Format) -> Data {
        var state = UInt64(seed &* 7919 &+ 1)
        return TestImage.make(size: size, format: format) { x, y in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let grain = Int(state >> 60)
            let (u, v) = (x + seed * 131, y + seed * 57)
            let red = (u * u / 1500 + v * 3) / 16 & 255
            let green = (v * v / 1300 + u * 2) / 20 & 255
            let blue = ((u + v) / 8 + u * v / 9000) & 255
            func channel(_ value: Int) -> UInt32 { UInt32(min(255, abs(value - 128) * 2 * 15 / 16 + grain)) }
            return channel(red) << 16 | channel(green) << 8 | channel(blue)
        }
    }
}
