import FoundationEssentials

/// A source of images for the wall.
protocol ImageFeed: Sendable {
    /// The URLs of the cells, in order.
    var urls: [URL] { get }

    /// Returns the URL of the same image for the large view.
    func largeURL(for url: URL) -> URL
}

/// A feed of given URLs.
struct URLListFeed: ImageFeed {
    let urls: [URL]

    /// Reads a text file with one URL per line. Empty lines and lines that begin with # are ignored.
    init(path: String) throws {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        urls = text.split(whereSeparator: \.isNewline)
            .map { $0.drop(while: \.isWhitespace) }
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
            .compactMap { URL(string: String($0)) }
    }

    /// Creates a feed of free photographs from a public web service.
    init(onlineCount: Int) {
        urls = (0..<onlineCount).compactMap { URL(string: "https://picsum.photos/id/\($0 % 1000)/640/480") }
    }

    func largeURL(for url: URL) -> URL {
        URL(string: url.absoluteString.replacing("/640/480", with: "/1600/1200")) ?? url
    }
}
