import FoundationEssentials

/// The pictures in data/pictures.
enum ShippedPicture {
    static let folder: String = {
        let steps = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return "/\(steps)/data/pictures"
    }()

    static let all: [String] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { !$0.hasSuffix(".md") }.sorted()
    }()

    /// One of each kind, quick to decode.
    static let small = [
        "cat.jpg", "coffee.jpg", "bauhaus-poster.png", "pixel-sunset.gif", "bouncing-ball.gif", "aurora.webp",
        "day-and-night.webp",
    ]

    static func data(_ name: String) -> Data {
        (try? Data(contentsOf: URL(filePath: "\(folder)/\(name)"))) ?? Data()
    }
}
