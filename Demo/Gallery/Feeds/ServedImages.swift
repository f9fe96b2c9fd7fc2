import FoundationEssentials
import GtkWebImage
import Synchronization
import WebImageTesting

/// The responses of the server.
final class ServedImages: Sendable {
    private let folder: String
    private let line: Line
    /// How often each flaky path was requested.
    private let requestCounts = Mutex<[String: Int]>([:])

    init(folder: String, line: Line) {
        (self.folder, self.line) = (folder, line)
    }

    func response(to request: ServerRequest) -> ServerResponse {
        let parts = request.path.split(separator: "/", maxSplits: 2).map(String.init)
        guard parts.count == 3, !"/\(parts[2])".contains("/."), let reply = ImageServer.Reply(rawValue: parts[0]) else {
            return .notFound
        }
        var response = response(reply, parts, to: request)
        if parts[1].hasPrefix("page") { response.headers.append(("Cache-Control", "no-store")) }
        return line.carry(response)
    }

    private func response(_ reply: ImageServer.Reply, _ parts: [String], to request: ServerRequest) -> ServerResponse {
        // photo@2x.jpg is the same file: only its name says that it has twice the pixels.
        var response = ServerResponse.file("\(folder)/\(parts[2].replacing("@2x", with: ""))")
        switch reply {
        case .normal: break
        case .drip:
            let rate = request.query["rate"].flatMap { Int($0) } ?? 200
            response.faults.drip = (bytes: rate * 40, every: .milliseconds(40))
        case .late: response.faults.delay = .milliseconds(1500)
        case .small: return .scaled(response.body, width: 24, height: 24)
        // A small one, since the file is written for each request.
        case .apng: return .scaled(response.body, width: 160, height: 120, as: .png)
        case .missing: return .notFound
        case .truncated: response.body = response.body.prefix(response.body.count / 3)
        case .bomb: return .ok(Self.bomb, contentType: "image/png")
        case .text: return .ok(Data("<!DOCTYPE html><p>Not an image".utf8), contentType: "text/html")
        case .flaky:
            let count = requestCounts.withLock { counts in
                counts[request.path, default: 0] += 1
                return counts[request.path, default: 0]
            }
            if count <= 3 { return .status(503) }
        case .closed: response.faults.rawResponse = Data()
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

extension ServerResponse {
    /// An image within a size, encoded again.
    static func scaled(_ file: Data, width: Int, height: Int, as format: ImageFormat = .jpeg) -> ServerResponse {
        let options = DecodeOptions(size: .contain(PixelSize(width: width, height: height)))
        guard let image = try? WebImage(data: file, options: options), let data = try? image.data(as: format) else {
            return .notFound
        }
        return .ok(data, contentType: "image/\(format.rawValue)")
    }
}
