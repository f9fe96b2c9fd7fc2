public import FoundationEssentials
public import WebImageCore
public import WebImageLinux

/// A server that scales images, behind which an app puts the images of other servers: imgproxy, Thumbor, Cloudinary, or any that a
/// template describes.
///
/// Once ``WebImageServices/WebImageCore/ImageManager/Configuration/imageService`` has one, widgets load from it what fits their pixels; nothing else in the app
/// changes.
///
///     var configuration = ImageManager.Configuration()
///     configuration.imageService = .thumbor(at: server, key: "the key of the server")
///     ImageManager.shared = ImageManager(configuration: configuration)
///
/// Widths are rounded up to ``widths``, so that a window that is resized makes few files, which the server and the caches have. A
/// load without a size gets the image at its own size from the server. A larger image in a cache serves instead of a download. The
/// caches know an image by its own URL, so that a new key of the server makes no file in them useless; a template
/// (``template(_:)``) with another query is another service to them.
///
/// What goes through the server is said by ``isApplied``. Some requests never do: those with `ImageRequest.variants` or a loader of
/// their own, and those with a user, a password or header fields, which are meant for the host of the image.
public struct ImageService: Sendable {
    /// What the server is asked for.
    struct Target {
        /// The width in pixels, at most; `nil` for the image's own.
        var width: Int?
        /// The height in pixels, for an image that is cut to a shape.
        var height: Int?
    }

    /// The widths in pixels that the server is asked for; a wider image comes at its own size. Default: sixteen steps from 64
    /// to 3840.
    public var widths: [Int] = Self.standardWidths
    /// The width divided by the height to which the server cuts images, at what it takes for their interesting part. Default: `nil`,
    /// which leaves them whole.
    public var aspectRatio: Double?
    /// Whether the image of a URL goes through the server. Any thread calls it for each request, so it must be quick. Default: all
    /// images over http and https whose URLs have no password. Those of the server itself never do.
    public var isApplied: @Sendable (URL) -> Bool = { url in
        ["http", "https"].contains(url.scheme?.lowercased() ?? "") && url.user(percentEncoded: true) == nil
    }

    /// What tells its images from those of other services in the keys of the caches.
    private let name: String
    /// Whether a URL is one of the server.
    private let isOwn: @Sendable (URL) -> Bool
    private let makeText: @Sendable (_ source: String, _ target: Target) -> String

    /// The steps between which an image has at most half more pixels a side than it needs.
    private static let standardWidths = [
        64, 96, 128, 192, 256, 384, 512, 640, 768, 1024, 1280, 1600, 1920, 2560, 3200, 3840,
    ]

    /// - Parameters:
    ///   - address: The URL of the server.
    ///   - makeText: Returns the URL of an image on the server.
    init(
        name: String,
        address: URL,
        makeText: @escaping @Sendable (_ source: String, _ target: Target) -> String
    ) {
        self.name = name
        self.makeText = makeText
        let (host, port) = (address.host(), address.port)
        isOwn = { $0.host() == host && $0.port == port }
    }
}

extension ImageService: ImageScaling {
    package func makeScaler() -> ImageScaler {
        let ratio = aspectRatio.flatMap { $0.isFinite && $0 > 0 ? $0 : nil }
        let (isApplied, isOwn, makeText) = (isApplied, isOwn, makeText)
        return ImageScaler(
            name: ratio.map { "\(name) \($0)" } ?? name,
            widths: widths,
            aspectRatio: ratio,
            isApplied: { !isOwn($0) && isApplied($0) }
        ) { source, width in
            let height = ratio.flatMap { ratio in width.map { max(1, Int(bounded: (Double($0) / ratio).rounded())) } }
            let url = URL(string: makeText(source.standardized.absoluteString, Target(width: width, height: height)))
            // Dots in the query of an image would lead out of the folder of the service, and are removed after the path was signed.
            let folders = url?.path(percentEncoded: false).split(separator: "/") ?? []
            return folders.contains { [".", ".."].contains($0) } ? nil : url
        }
    }
}

extension ImageManager.Configuration {
    /// The server that scales images to the pixels of the widgets that show them. Default: none; images come from their own
    /// URLs.
    public var imageService: ImageService? {
        get { scaling as? ImageService }
        set { scaling = newValue }
    }
}

extension String {
    /// The text for a place within the path of another URL.
    /// - Parameter kept: The characters that stay, besides letters, digits and `-._~`.
    func escaped(keeping kept: String = "") -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count)
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                bytes.append(byte)
            case _ where "-._~".utf8.contains(byte) || kept.utf8.contains(byte):
                bytes.append(byte)
            default:
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text without slashes at its end.
    var withoutTrailingSlashes: String {
        var text = self[...]
        while text.last == "/" { text.removeLast() }
        return String(text)
    }
}
