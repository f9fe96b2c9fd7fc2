import Foundation
import Testing
import WebImageCodecs
import WebImageCore
import WebImageFormats
import WebImageLinux

/// A file of Tests/corpus/codecs, and the pixels that another decoder shows of it.
struct CodecFile: Sendable, CustomTestStringConvertible {
    let name: String
    /// The largest mean and the largest difference of a channel, in levels of 255.
    let tolerance: (mean: Double, largest: Int)
    /// The name of a PNG; `nil` if a test knows what the file shows.
    private let pixelFile: String?

    var testDescription: String { name }

    static let folder = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/corpus/codecs"

    static let all: [CodecFile] = {
        let text = (try? String(contentsOfFile: "\(folder)/expected", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map { line in
            let parts = line.split(separator: " ").map(String.init)
            return CodecFile(
                name: String(parts[0].dropLast()),
                tolerance: parts.count > 3 ? (Double(parts[2]) ?? 0, Int(parts[3]) ?? 0) : (0, 0),
                pixelFile: parts[1] == "-" ? nil : parts[1]
            )
        }
    }()

    static func named(_ name: String) -> CodecFile { all.first { $0.name == name }! }

    /// Those with pixels.
    static let compared = all.filter { $0.pixelFile != nil }
    static let jpegXL = all.filter { $0.format == .jpegXL }

    /// One of each kind of pixels in each format, for tests that take long.
    static let few = [
        "8-420.avif", "10-444.avif", "alpha.avif", "grid.avif", "8-420.heic", "10-420.heic", "alpha.heic", "lossy.jxl",
        "lossless-16.jxl", "alpha-lossy.jxl", "animation-alpha.jxl", "container.jxl", "jpeg.jxl", "squeeze.jxl",
        "sequence.avif",
    ].map(named)

    var format: ImageFormat {
        name.hasSuffix(".avif") ? .avif : name.hasSuffix(".heic") ? .heif : .jpegXL
    }

    var data: Data { (try? Data(contentsOf: URL(filePath: "\(Self.folder)/\(name)"))) ?? Data() }

    /// The pixels that another decoder shows, upright and in sRGB.
    func expected(_ options: DecodeOptions = DecodeOptions()) throws -> WebImage {
        let file = try Data(contentsOf: URL(filePath: "\(Self.folder)/\(pixelFile ?? "none")"))
        return try CoderRegistry.builtIn.decode(file, options: options)
    }
}

extension PixbufCoder {
    /// Whether drawings are decoded by a process of gdk-pixbuf, which needs no worker.
    static var drawsElsewhere: Bool { PixbufCoder().decodesElsewhere(.svg) && !SVGCoder().canDecode(.svg) }
}
