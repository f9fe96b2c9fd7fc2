package import FoundationEssentials

/// The images in data/images, without those in the folders formats and large.
package enum ShippedImage {
    package static let folder: String = {
        let steps = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return "/\(steps)/data/images"
    }()

    package static let all: [String] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.contains(".") && !$0.hasSuffix(".md") }.sorted()
    }()

    /// One small image of each kind.
    package static let small = [
        "cat.jpg", "coffee.jpg", "bauhaus-poster.png", "pixel-sunset.gif", "bouncing-ball.gif", "aurora.webp",
        "day-and-night.webp",
    ]

    /// One image of each kind, including large ones.
    package static let oneOfEach = [
        "cat.jpg", "deep-field.jpg", "lighthouse.jpg", "butterfly.png", "stained-glass.png", "bauhaus-poster.png",
        "pinwheel.gif", "aurora.webp", "jellyfish.webp", "mushroom.webp", "day-and-night.webp",
    ]

    package static func data(_ name: String) -> Data {
        (try? Data(contentsOf: URL(filePath: "\(folder)/\(name)"))) ?? Data()
    }
}
