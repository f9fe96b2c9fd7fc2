import FoundationEssentials

/// The pictures in data/pictures.
enum ShippedPicture {
    static let folder: String = {
        let steps = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return "/\(steps)/data/pictures"
    }()

    static let oneOfEach = [
        "cat.jpg", "deep-field.jpg", "lighthouse.jpg", "butterfly.png", "stained-glass.png", "bauhaus-poster.png",
        "pinwheel.gif", "aurora.webp", "jellyfish.webp", "mushroom.webp", "day-and-night.webp",
    ]

    static func data(_ name: String) -> Data {
        (try? Data(contentsOf: URL(filePath: "\(folder)/\(name)"))) ?? Data()
    }
}
