import ArgumentParser
import Foundation
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Measures transformers.
struct Transforming: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Milliseconds of transformers, and of ImageMagick where it does the same, with reading and writing."
    )

    @Option(help: "The number of measurements of each. Medians are shown.")
    var rounds = 5

    func run() throws {
        let folder = TemporaryDirectory()
        let screen = try WebImage(data: Photograph.jpeg(seed: 2, size: PixelSize(width: 1920, height: 1080)))
        let large = try WebImage(data: Photograph.jpeg(seed: 3, size: PixelSize(width: 4000, height: 3000)))
        for (image, name) in [(screen, "screen"), (large, "large")] {
            let file = URL(filePath: "\(folder.path)/\(name).ppm")
            var data = Data("P6 \(image.pixelSize.width) \(image.pixelSize.height) 255\n".utf8)
            image.pixels.withUnsafeBytes { data.append(contentsOf: $0) }
            try data.write(to: file)
        }
        let small = PixelSize(width: 800, height: 600)
        var partial = Rounds()
        for _ in 0..<rounds {
            partial.measure("blur") { precondition(ImageTransformer.blur(10).transform(screen) != nil) }
            partial.measure("partial image") { precondition(screen.blurred(arrived: 0.5, keepsSize: false) != screen) }
        }
        Limits.check("a blurred partial image, to a blur", partial.ratio("partial image", to: "blur"), atMost: 0.2)
        print(
            "blur of a partial image 1920x1080: \(Rounds.format(Rounds.median(partial.seconds["partial image"] ?? []) * 1000)) ms"
        )
        let color = ImageColor(0x336699)
        let plain = ["(", "-size", "1920x1080", "xc:#336699", ")"]
        guard let round = ImageTransformer.rounded(40).transform(screen) else { preconditionFailure("No corners") }
        let work: [(String, WebImage, ImageTransformer, [String])] = [
            ("blur 1920x1080, radius 10", screen, .blur(10), ["screen.ppm", "-blur", "0x10"]),
            ("resize 4000x3000 to 800x600", large, .resize(to: small), ["large.ppm", "-scale", "800x600"]),
            ("rounded 1920x1080", screen, .rounded(40), []), ("circle 1920x1080", screen, .circle(), []),
            ("sepia 1920x1080", screen, .sepia, []),
            ("inverted 1920x1080", screen, .inverted, ["screen.ppm", "-negate"]),
            ("gamma 1920x1080", screen, .gamma(0.5), ["screen.ppm", "-gamma", "2"]),
            ("tint 1920x1080", screen, .tint(color), []),
            (
                "tint 1920x1080, multiplied", screen, .tint(color, blendMode: .multiply),
                ["screen.ppm"] + plain + ["-compose", "Multiply", "-composite"]
            ),
            (
                "tint 1920x1080, soft light", screen, .tint(color, blendMode: .softLight),
                ["screen.ppm"] + plain + ["-compose", "SoftLight", "-composite"]
            ),
            ("overlay 1920x1080, screen", screen, .overlay(round, key: "round", blendMode: .screen), []),
            ("rotate 1920x1080 by 30", screen, .rotate(degrees: 30), []),
        ]
        for (name, image, transformer, arguments) in work {
            var measured = Rounds()
            for _ in 0..<rounds {
                measured.measure("ours") { precondition(transformer.transform(image) != nil) }
                guard let file = arguments.first else { continue }
                try measured.measure("ImageMagick") {
                    _ = try ChildProcess.run(
                        "convert",
                        ["\(folder.path)/\(file)"] + arguments.dropFirst() + ["\(folder.path)/out.ppm"]
                    )
                }
            }
            let times = ["ours", "ImageMagick"].compactMap { rival in
                measured.seconds[rival].map { "\(rival) \(Rounds.format(Rounds.median($0) * 1000)) ms" }
            }
            if !arguments.isEmpty {
                Limits.check("\(name), to ImageMagick", measured.ratio("ours", to: "ImageMagick"), atMost: 0.8)
            }
            print("\(name): \(times.joined(separator: ", "))")
        }
    }
}
