import ArgumentParser
import Foundation
import TestSupport
import WebImageCore
import WebImageFormats
import WebImageLinux

/// Compares the encodings in which renditions can be kept on disk.
struct Renditions: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Milliseconds, bytes and fidelity of the encodings for renditions."
    )

    @Option(help: "The width of the box in pixels. Its height is three quarters of that.")
    var width = 256

    func run() throws {
        let box = PixelSize(width: width, height: width * 3 / 4)
        for kind in ["jpg", "png"] {
            let names = ShippedImage.all.filter { $0.hasSuffix(".\(kind)") }
            let images = names.compactMap {
                try? CoderRegistry.builtIn.decode(ShippedImage.data($0), options: DecodeOptions(size: .cover(box)))
            }.filter { !$0.pixels.hasAlpha }
            print("\(images.count) \(kind) images that fill \(box)")
            report("raw", images, RenditionCoder(rawLimit: .max))
            report("zstd", images.map { $0.with { $0.format = .png } }, RenditionCoder(rawLimit: 0))
            for quality in [0.8, 0.9, 0.95] {
                report(
                    "jpeg \(Int(quality * 100))",
                    images.map { $0.with { $0.format = .jpeg } },
                    RenditionCoder(rawLimit: 0, quality: quality)
                )
            }
        }
    }

    private func report(_ name: String, _ images: [WebImage], _ coder: RenditionCoder) {
        var (bytes, pixels, error) = (0, 0, 0.0)
        var (encoding, decoding) = ([Double](), [Double]())
        for image in images {
            var encoded: (Data, RenditionInfo.Encoding)?
            encoding.append(
                ContinuousClock().measure { encoded = coder.encode(image, hasRoom: false) } / .milliseconds(1)
            )
            guard let (data, kind) = encoded else { continue }
            let info = RenditionInfo(image, encoding: kind, source: .distantPast)
            var decoded: PixelBuffer?
            decoding.append(ContinuousClock().measure { decoded = coder.decode(data, info) } / .milliseconds(1))
            bytes += data.count
            pixels += image.pixels.byteCount
            error += Self.squaredError(image.pixels, decoded!)
        }
        let mean = error / Double(pixels)
        let likeness = mean == 0 ? "the same" : "\(Rounds.format(10 * log10(255 * 255 / mean))) dB"
        let share = Rounds.format(Double(bytes) / Double(pixels))
        print(
            "  \(name): encode \(Rounds.format(Rounds.median(encoding))) ms,"
                + " decode \(Rounds.format(Rounds.median(decoding))) ms,"
                + " \(bytes / max(images.count, 1)) bytes (\(share) of the pixels), \(likeness)"
        )
    }

    private static func squaredError(_ one: PixelBuffer, _ other: PixelBuffer) -> Double {
        one.withUnsafeBytes { first in
            other.withUnsafeBytes { second in
                zip(first, second).reduce(0.0) { sum, pair in
                    let difference = Double(pair.0) - Double(pair.1)
                    return sum + difference * difference
                }
            }
        }
    }
}
