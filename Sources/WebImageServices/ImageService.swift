public import FoundationEssentials
public import WebImageCore
public import WebImageLinux

/// A server that scales images of other servers: imgproxy, Thumbor, Cloudinary, or any server described by a template.
///
/// Set ``WebImageServices/WebImageCore/ImageManager/Configuration/imageService``, and widgets load images from the server at the
/// size of their pixels. You change nothing else.
///
///     var configuration = ImageManager.Configuration()
///     configuration.imageService = .thumbor(at: server, key: "the key of the server")
///     ImageManager.shared = ImageManager(configuration: configuration)
///
/// Widths are rounded up to ``widths``, so that resizing a window requests few different files from the server. A load without a
/// size requests the original size from the server. A larger image in a cache is used instead of a download. Cache keys contain the
/// image's own URL, so files stay valid when the key of the server changes; but a new query in a template (``template(_:)``) makes
/// a different service.
///
/// ``isApplied`` decides which images go through the server. Some requests never do: those with `ImageRequest.variants` or their
/// own loader, and those with a user, a password or header fields, which are meant for the host of the image.
public struct ImageService: Sendable {
    /// A size that the server is asked for.
    struct Target {
        /// The largest width in pixels; `nil` for the original size.
        var width: Int?
        /// The height in pixels, for an image that is cropped to an aspect ratio.
        var height: Int?
    }

    /// The widths in pixels that the server is asked for; wider images are loaded at their original size. Default: sixteen steps
    /// from 64 to 3840.
    public var widths: [Int] = Self.standardWidths
    /// The width divided by the height to which the server crops images, around the part that it finds interesting. Default: `nil`,
    /// which does not crop.
    public var aspectRatio: Double?
    /// Whether the image of a URL goes through the server. Called on any thread for each request, so it must be fast. Default: all
    /// http and https URLs without a user name. URLs of the server itself never go through it.
    public var isApplied: @Sendable (URL) -> Bool = { url in
        ["http", "https"].contains(url.scheme?.lowercased() ?? "") && url.user(percentEncoded: true) == nil
    }

    /// Distinguishes the images of this service from images of other services in cache keys.
    private let name: String
    /// Whether a URL belongs to the server.
    private let isOwn: @Sendable (URL) -> Bool
    private let makeText: @Sendable (_ source: String, _ target: Target) -> String

    /// Between these steps, an image has at most half more pixels a side than needed.
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
        let (host, port) = (address.host()?.lowercased(), Self.port(of: address))
        isOwn = { $0.host()?.lowercased() == host && Self.port(of: $0) == port }
    }

    /// The port of a URL; `nil` for the usual one of its scheme.
    private static func port(of url: URL) -> Int? {
        url.port == (url.scheme?.lowercased() == "http" ? 80 : 443) ? nil : url.port
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
            // Dots in the query of an image would lead out of the service's folder, and be removed after the path was signed.
            let folders = url?.path(percentEncoded: false).split(separator: "/") ?? []
            return folders.contains { [".", ".."].contains($0) } ? nil : url
        }
    }
}

extension ImageManager.Configuration {
    /// The server that scales images to the pixels of the widgets that show them. Default: none; images load from their own URLs.
    public var imageService: ImageService? {
        get { scaling as? ImageService }
        set { scaling = newValue }
    }
}

extension String {
    /// The text, escaped for the path of another URL.
    /// - Parameter kept: The characters to keep, besides letters, digits and `-._~`.
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

    var withoutTrailingSlashes: String {
        var text = self[...]
        while text.last == "/" { text.removeLast() }
        return String(text)
    }
}
