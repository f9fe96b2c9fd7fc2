import FoundationEssentials
import GtkWebImage
import WebImageServices
import WebImageTesting

/// A server on 127.0.0.1 that scales the bundled images.
final class ScalingServer: Sendable {
    /// The service for the configuration of a manager.
    let service: ImageService
    private let server: LocalImageServer

    /// - Parameter folder: The folder of the bundled images.
    init(folder: String) throws {
        server = try LocalImageServer { Self.response(to: $0, folder) }
        service = try .template("\(server.baseURL.absoluteString)/{width}/{url}")
    }

    /// Answers /WIDTH/URL with the bundled image of that name.
    private static func response(to request: ServerRequest, _ folder: String) -> ServerResponse {
        let parts = request.path.split(separator: "/")
        guard let width = parts.first.flatMap({ Int($0) }), let name = parts.last, !name.hasPrefix("."),
            let file = try? Data(contentsOf: URL(filePath: "\(folder)/\(name)"))
        else { return .notFound }
        return .scaled(file, width: width, height: 1 << 16)
    }
}
