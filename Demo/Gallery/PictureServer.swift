import FoundationEssentials
import WebImageTesting

/// The pictures that are shipped with the gallery, from a server on 127.0.0.1 in this very process: real requests over
/// real sockets, with no network needed.
struct PictureServer: PictureSource {
    /// `data/pictures` of the package that this was built in.
    static var standardFolder: String {
        let steps = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return "/\(steps)/data/pictures"
    }

    let urls: [URL]
    private let server: LocalImageServer

    init(folder: String, count: Int) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasSuffix(".jpg") || $0.hasSuffix(".png") || $0.hasSuffix(".gif") || $0.hasSuffix(".webp") }
            .sorted()
        guard !names.isEmpty else { throw NoPictures(folder: folder) }
        let server = try LocalImageServer { request in Self.response(to: request, folder: folder) }
        self.server = server
        // Neighbours differ: a step that has no factor in common with the number of pictures visits all of them.
        let step = [7, 11, 13].first { names.count % $0 != 0 } ?? 1
        urls = (0..<count).map { server.url("/pictures/\($0)/\(names[$0 * step % names.count])") }
    }

    /// The same file under a URL of its own, served as slowly as over a bad line: progressive decoding can be watched.
    func largeURL(for url: URL) -> URL {
        server.url("/large" + url.path())
    }

    private static func response(to request: ServerRequest, folder: String) -> ServerResponse {
        guard let name = request.path.split(separator: "/").last.map(String.init), !name.hasPrefix(".") else {
            return .notFound
        }
        var response = ServerResponse.file("\(folder)/\(name)")
        if request.path.hasPrefix("/large/") { response.faults.drip = (bytes: 8192, every: .milliseconds(40)) }
        return response
    }
}

/// There is nothing to show.
struct NoPictures: Error, CustomStringConvertible {
    let folder: String

    var description: String { "There are no pictures in \(folder); name the folder data/pictures with --pictures." }
}
