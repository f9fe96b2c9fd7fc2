public import FoundationEssentials
import Glibc
import WebImageTesting

/// A photograph of the app's server.
public struct Photo: Sendable {
    /// Where it is.
    public let url: URL
    /// Where a small one is.
    public let smallURL: URL
    /// What it shows.
    public let title: String
}

/// A server on 127.0.0.1 with the images of this package, in place of the one that the original apps talk to.
public final class PhotoServer: Sendable {
    private let server: LocalImageServer
    /// Sixty photographs, each with a URL of its own.
    public let photos: [Photo]

    /// Starts the server.
    public init() throws {
        let top = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        let folder = "\(top)/data/images"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".jpg") }.sorted()
        let server = try LocalImageServer { request in
            .file("\(folder)/\(request.path.split(separator: "/").last ?? "")")
        }
        self.server = server
        photos = (0..<60).map { number in
            let name = names[number % names.count]
            return Photo(
                url: server.url("/\(number)/large/\(name)?token=\(number)"),
                smallURL: server.url("/\(number)/small/\(name)"),
                title: "\(number + 1) \(name.dropLast(4))"
            )
        }
    }
}
