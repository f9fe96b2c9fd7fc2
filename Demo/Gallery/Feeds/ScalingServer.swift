import FoundationEssentials
import GtkWebImage
import WebImageServices
import WebImageTesting

/// A server on 127.0.0.1 that scales the bundled images: a Thumbor where Tests/thumbor has installed one, else a small one of the
/// gallery, which knows the bundled images alone.
final class ScalingServer: Sendable {
    private enum Kind: Sendable {
        case thumbor(ThumborServer)
        case own(LocalImageServer)
    }

    private static let key = "the key of the gallery"

    /// The service for the configuration of a manager.
    let service: ImageService
    private let kind: Kind

    /// - Parameter folder: The folder of the bundled images.
    init(folder: String) throws {
        if ThumborServer.isInstalled, let thumbor = try? ThumborServer(key: Self.key) {
            kind = .thumbor(thumbor)
            service = .thumbor(at: thumbor.baseURL, key: Self.key)
        } else {
            let server = try LocalImageServer { Self.response(to: $0, folder) }
            kind = .own(server)
            service = try .template("\(server.baseURL.absoluteString)/{width}/{url}")
        }
    }

    /// The name of the server.
    var name: String {
        switch kind {
        case .thumbor: "Thumbor"
        case .own: "LocalImageServer"
        }
    }

    /// Answers /WIDTH/URL with the bundled image of that name.
    private static func response(to request: ServerRequest, _ folder: String) -> ServerResponse {
        let parts = request.path.split(separator: "/")
        guard let width = parts.first.flatMap({ Int($0) }), let name = parts.last, !name.hasPrefix("."),
            let file = try? Data(contentsOf: URL(filePath: "\(folder)/\(name)")),
            let image = try? WebImage(
                data: file,
                options: DecodeOptions(size: .contain(PixelSize(width: width, height: 1 << 16)))
            ),
            let jpeg = try? image.data(as: .jpeg)
        else { return .notFound }
        return .ok(jpeg, contentType: "image/jpeg")
    }
}
