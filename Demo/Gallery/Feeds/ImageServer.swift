import FoundationEssentials
import GtkWebImage
import WebImageTesting

/// A server on 127.0.0.1 for the bundled images. The gallery thus sends real requests over real sockets, but needs no
/// network.
struct ImageServer: ImageFeed {
    /// The behaviour of the server for a URL.
    enum Reply: String {
        /// Responds at once.
        case normal
        /// Responds slowly, so that progressive loading is visible: with the kB a second that the query names as "rate", or
        /// with 200.
        case drip
        /// Responds after 1.5 seconds.
        case late
        /// Responds with the image 24 pixels wide.
        case small
        /// Responds with an animation as an animated PNG.
        case apng
        /// Responds with status 404.
        case missing
        /// Responds with the first third of the file as if it were complete.
        case truncated
        /// Responds with an image header that claims 60,000 × 60,000 pixels.
        case bomb
        /// Responds with an HTML page.
        case text
        /// Responds with status 503 until the user tries again: the first three times, as a load is tried twice again by itself.
        case flaky
        /// Closes the connection without a response.
        case closed
        /// Responds with a rotated JPEG that has an EXIF orientation.
        case rotated
    }

    /// The folder of images beside the installed program, or data/images of the package it was built from.
    static var standardFolder: String { ProgramFolder.own("images", source: "data/images") }

    let urls: [URL]
    /// The file names of all bundled images.
    let names: [String]
    /// The folder of these images.
    let folder: String
    /// The connection to the server.
    let line = Line()
    private let server: LocalImageServer

    /// The keys of the server's images in the caches. They do not contain the port, which changes with each start, so that
    /// the images of one start are found by the next.
    var cacheKeys: CacheKeyFilter {
        let start = server.url("/").absoluteString
        let own = "http://gallery.invalid\(folder)/"
        return CacheKeyFilter { url in
            let text = url.absoluteString
            return text.hasPrefix(start) ? own + text.dropFirst(start.count) : nil
        }
    }

    /// The paths that were requested so far.
    var requestedPaths: [String] { server.requests.map(\.path) }

    init(folder: String, count: Int) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasSuffix(".jpg") || $0.hasSuffix(".png") || $0.hasSuffix(".gif") || $0.hasSuffix(".webp") }
            .sorted()
        guard !names.isEmpty else { throw NoImages(folder: folder) }
        let images = ServedImages(folder: folder, line: line)
        let server = try LocalImageServer { images.response(to: $0) }
        self.server = server
        self.folder = folder
        self.names = names
        // Neighbouring cells differ: a step without a common factor with the number of images visits all of them.
        let step = [7, 11, 13].first { names.count % $0 != 0 } ?? 1
        let first = names.firstIndex(of: "dusk-mountains.jpg") ?? 0
        urls = (0..<count).map { server.url("/normal/\($0)/\(names[($0 * step + first) % names.count])") }
    }

    /// Returns a separate URL of the same file, as servers have one for a larger version.
    func largeURL(for url: URL) -> URL {
        server.url(url.path().replacing("/normal/", with: "/normal/large"))
    }

    /// Returns the URL of a bundled image, which no cache on disk keeps: each start begins without it.
    /// - Parameters:
    ///   - serial: Distinguishes URLs of the same image.
    ///   - query: What else the server needs to know.
    func url(_ name: String, _ reply: Reply = .normal, serial: Int, query: String = "") -> URL {
        server.url("/\(reply.rawValue)/page\(serial)/\(name)\(query)")
    }

    /// Returns an https URL of the server, which speaks http alone.
    func refusedURL(_ name: String) -> URL {
        let address = server.url("/\(Reply.normal.rawValue)/page0/\(name)").absoluteString
        return URL(string: address.replacing("http:", with: "https:"))!
    }

    /// Returns the URL of a bundled image that the cache on disk keeps, as it keeps those of the wall.
    /// - Parameters:
    ///   - set: Distinguishes URLs of the same image.
    ///   - rate: The kB a second. Default: as many as the line has.
    func storedURL(_ name: String, set: String, rate: Int? = nil) -> URL {
        server.url(rate.map { "/\(Reply.drip.rawValue)/\(set)/\(name)?rate=\($0)" } ?? "/normal/\(set)/\(name)")
    }
}

/// The error of a folder without images.
struct NoImages: Error, CustomStringConvertible {
    let folder: String

    var description: String { "There are no images in \(folder). Pass the folder data/images with --images." }
}
