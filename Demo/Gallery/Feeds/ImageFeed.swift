import FoundationEssentials

/// Where the images on the wall come from.
protocol ImageFeed: Sendable {
    /// The URLs of the cells, in order.
    var urls: [URL] { get }

    /// The URL of the same image for the large view.
    func largeURL(for url: URL) -> URL
}

/// URLs that somebody names.
struct URLListSource: ImageFeed {
    let urls: [URL]

    /// A text file of URLs. Empty lines and those that begin with # do not count.
    init(path: String) throws {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        urls = text.split(whereSeparator: \.isNewline)
            .map { $0.drop(while: \.isWhitespace) }
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
            .compactMap { URL(string: String($0)) }
    }

    /// Photographs from the internet, of a service that hands out free ones by number.
    init(onlineCount: Int) {
        urls = (0..<onlineCount).compactMap { URL(string: "https://picsum.photos/id/\($0 % 1000)/640/480") }
    }

    func largeURL(for url: URL) -> URL {
        URL(string: url.absoluteString.replacing("/640/480", with: "/1600/1200")) ?? url
    }
}
