import FoundationEssentials
import GtkWebImage
import Synchronization
import WebImageTesting

/// A server on 127.0.0.1 for the bundled images. The gallery thus sends real requests over real sockets, but needs no
/// network.
struct ImageServer: ImageFeed {
    /// The behaviour of the server for a URL.
    enum Line: String {
        /// Responds at once.
        case normal
        /// Responds slowly, so that progressive loading is visible.
        case drip
        /// Responds after 1.5 seconds.
        case late
        /// Responds with status 404.
        case missing
        /// Responds with the first third of the file as if it were complete.
        case truncated
        /// Responds with an image header that claims 60,000 × 60,000 pixels.
        case bomb
        /// Responds with an HTML page.
        case text
        /// Responds with an error to the first request only.
        case flaky
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
    private let server: LocalImageServer

    init(folder: String, count: Int) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasSuffix(".jpg") || $0.hasSuffix(".png") || $0.hasSuffix(".gif") || $0.hasSuffix(".webp") }
            .sorted()
        guard !names.isEmpty else { throw NoImages(folder: folder) }
        let images = ServedImages(folder: folder)
        let server = try LocalImageServer { images.response(to: $0) }
        self.server = server
        self.folder = folder
        self.names = names
        // Neighbouring cells differ: a step without a common factor with the number of images visits all of them.
        let step = [7, 11, 13].first { names.count % $0 != 0 } ?? 1
        urls = (0..<count).map { server.url("/normal/\($0)/\(names[$0 * step % names.count])") }
    }

    /// Returns a separate URL of the same file, which is served slowly to show progressive decoding.
    func largeURL(for url: URL) -> URL {
        server.url(url.path().replacing("/normal/", with: "/drip/"))
    }

    /// Returns the URL of a bundled image.
    /// - Parameter serial: Distinguishes URLs of the same image.
    func url(_ name: String, _ line: Line = .normal, serial: Int) -> URL {
        server.url("/\(line.rawValue)/page\(serial)/\(name)")
    }
}

/// The responses of the server.
private final class ServedImages: Sendable {
    private let folder: String
    /// The paths requested so far.
    private let requested = Mutex<Set<String>>([])

    init(folder: String) {
        self.folder = folder
    }

    func response(to request: ServerRequest) -> ServerResponse {
        let parts = request.path.split(separator: "/").map(String.init)
        guard parts.count == 3, !parts[2].hasPrefix("."), let line = ImageServer.Line(rawValue: parts[0]) else {
            return .notFound
        }
        // photo@2x.jpg is the same file: only its name says that it has twice the pixels.
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
            if requested.withLock({ $0.insert(request.path).inserted }) { return .status(404) }
        case .rotated: return rotated(parts[1], response.body)
        }
        return response
    }

    /// Rotates an image and adds the EXIF orientation that makes it upright again.
    private func rotated(_ name: String, _ file: Data) -> ServerResponse {
        guard let number = Int(name.drop { !$0.isNumber }), let image = try? WebImage(data: file),
            let rotated = ExifWriter.rotated(image, orientation: number),
            let jpeg = ExifWriter.tagged(rotated, orientation: number)
        else { return .notFound }
        return .ok(jpeg, contentType: "image/jpeg")
    }

    /// A PNG file that consists of little more than its header.
    private static var bomb: Data {
        var file = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13])
        file += Data("IHDR".utf8) + Data([0, 0, 0xEA, 0x60, 0, 0, 0xEA, 0x60, 8, 2, 0, 0, 0, 0x0F, 0xB0, 0xE2, 0x15])
        // The pixel data begins, but never ends.
        file += Data([0, 0, 1, 0]) + Data("IDAT".utf8) + Data(count: 64)
        return file
    }
}

/// The error of a folder without images.
struct NoImages: Error, CustomStringConvertible {
    let folder: String

    var description: String { "There are no images in \(folder). Pass the folder data/images with --images." }
}
