import FoundationEssentials

/// Where the pictures on the wall come from.
protocol PictureSource: Sendable {
    /// The URLs of the cells, in order.
    var urls: [URL] { get }

    /// The URL of the same picture for the large view.
    func largeURL(for url: URL) -> URL
}

/// A text file of URLs. Empty lines and those that begin with `#` do not count.
struct URLListSource: PictureSource {
    let urls: [URL]

    init(path: String) throws {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        urls = text.split(whereSeparator: \.isNewline)
            .map { $0.drop(while: \.isWhitespace) }
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
            .compactMap { URL(string: String($0)) }
    }

    func largeURL(for url: URL) -> URL { url }
}
