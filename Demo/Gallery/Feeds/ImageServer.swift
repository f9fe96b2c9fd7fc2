import FoundationEssentials
import GtkWebImage
import Synchronization
import WebImageTesting

/// The images that are shipped with the gallery, from a server on 127.0.0.1 in this very process: real requests over
/// real sockets, with no network needed.
struct ImageServer: ImageFeed {
    /// How the server answers.
    enum Line: String {
        /// At once.
        case normal
        /// As over a bad line: what has come can be watched.
        case drip
        /// After a second and a half.
        case late
        /// Not: 404.
        case missing
        /// With the first third of the file, after which it says that this was all.
        case truncated
        /// With a header that claims 60,000 x 60,000 pixels.
        case bomb
        /// With a page of text.
        case text
        /// The first time with an error that may pass.
        case flaky
        /// A JPEG that lies on its side, as its EXIF data says.
        case turned
    }

    /// The images beside the program when it is installed; else data/images of the package that it was built in.
    static var standardFolder: String {
        let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        let installed = program.appending(path: "../share/\(GalleryApplication.identifier)/images").standardized
            .path()
        if FileManager.default.fileExists(atPath: installed) { return installed }
        let steps = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        return "/\(steps)/data/images"
    }

    let urls: [URL]
    /// Of all shipped images.
    let names: [String]
    private let server: LocalImageServer

    init(folder: String, count: Int) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasSuffix(".jpg") || $0.hasSuffix(".png") || $0.hasSuffix(".gif") || $0.hasSuffix(".webp") }
            .sorted()
        guard !names.isEmpty else { throw NoImages(folder: folder) }
        let pictures = ServedImages(folder: folder)
        let server = try LocalImageServer { pictures.response(to: $0) }
        self.server = server
        self.names = names
        // Neighbours differ: a step that has no factor in common with the number of images visits all of them.
        let step = [7, 11, 13].first { names.count % $0 != 0 } ?? 1
        urls = (0..<count).map { server.url("/normal/\($0)/\(names[$0 * step % names.count])") }
    }

    /// The same file under a URL of its own, served slowly: progressive decoding can be watched.
    func largeURL(for url: URL) -> URL {
        server.url(url.path().replacing("/normal/", with: "/drip/"))
    }

    /// A shipped image.
    /// - Parameter serial: Tells URLs of one image apart.
    func url(_ name: String, _ line: Line = .normal, serial: Int) -> URL {
        server.url("/\(line.rawValue)/page\(serial)/\(name)")
    }
}

/// What the server answers.
private final class ServedImages: Sendable {
    private let folder: String
    /// Paths that were asked for.
    private let asked = Mutex<Set<String>>([])

    init(folder: String) {
        self.folder = folder
    }

    func response(to request: ServerRequest) -> ServerResponse {
        let parts = request.path.split(separator: "/").map(String.init)
        guard parts.count == 3, !parts[2].hasPrefix("."), let line = ImageServer.Line(rawValue: parts[0]) else {
            return .notFound
        }
        // photo@2x.jpg is the same file; that it has twice the pixels is what its name says.
        var response = ServerResponse.file("\(folder)/\(parts[2].replacing("@2x", with: ""))")
        switch line {
        case .normal: break
        case .drip: response.faults.drip = (bytes: 8192, every: .milliseconds(40))
        case .late: response.faults.delay = .milliseconds(1500)
        case .missing: return .notFound
        case .truncated: response.body = response.body.prefix(response.body.count / 3)
        case .bomb: return .ok(Self.bomb, contentType: "image/png")
        case .text: return .ok(Data("<!DOCTYPE html><p>Not an image".utf8), contentType: "text/html")
        case .flaky:
            if asked.withLock({ $0.insert(request.path).inserted }) { return .status(404) }
        case .turned: return turned(parts[1], response.body)
        }
        return response
    }

    /// The image turned, with EXIF data that says how to turn it back: all eight ways look the same.
    private func turned(_ name: String, _ file: Data) -> ServerResponse {
        guard let number = Int(name.drop { !$0.isNumber }), let image = try? WebImage(data: file),
            let pixels = ExifWriter.turn(image, number), let jpeg = ExifWriter.mark(pixels, number)
        else { return .notFound }
        return .ok(jpeg, contentType: "image/jpeg")
    }

    /// The header of a PNG and next to nothing else.
    private static var bomb: Data {
        var file = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13])
        file += Data("IHDR".utf8) + Data([0, 0, 0xEA, 0x60, 0, 0, 0xEA, 0x60, 8, 2, 0, 0, 0, 0x0F, 0xB0, 0xE2, 0x15])
        // Its pixels begin, and never end.
        file += Data([0, 0, 1, 0]) + Data("IDAT".utf8) + Data(count: 64)
        return file
    }
}

/// There is nothing to show.
struct NoImages: Error, CustomStringConvertible {
    let folder: String

    var description: String { "There are no images in \(folder); name the folder data/images with --images." }
}
