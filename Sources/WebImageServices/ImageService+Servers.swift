public import FoundationEssentials
public import WebImageCore

extension ImageService {
    /// How the URL of an image is written in a URL of imgproxy.
    public enum SourceEncoding: Sendable, Hashable {
        /// Encoded in Base64.
        case base64
        /// Readable, with special characters escaped.
        case plain
    }

    /// Makes the service of an imgproxy server.
    ///
    /// Its URLs are signed (HMAC-SHA256) if you pass a key. Users can extract a key from an app.
    /// - Parameters:
    ///   - address: The URL of the server, including its path prefix.
    ///   - key: The key of the server, IMGPROXY_KEY, in hexadecimal digits. Default: none.
    ///   - salt: The salt of the server, IMGPROXY_SALT, in hexadecimal digits. Default: none.
    ///   - options: Further processing options, such as `q:80` or `f:webp`. Default: none.
    ///   - sourceEncoding: How the URL of the image is written. Default: Base64.
    /// - Throws: `ImageError.Code.invalidRequest` if the key or salt is not hexadecimal, or only one of them is given: imgproxy
    ///   needs both to check signatures.
    public static func imgproxy(
        at address: URL,
        key: String? = nil,
        salt: String? = nil,
        options: [String] = [],
        sourceEncoding: SourceEncoding = .base64
    ) throws(ImageError) -> ImageService {
        guard (key == nil) == (salt == nil) else {
            throw ImageError(
                .invalidRequest,
                url: address,
                reason: "An imgproxy server has a key without a salt, or a salt without a key",
                remedy: "Pass both IMGPROXY_KEY and IMGPROXY_SALT of the server, or none of them where it has none."
            )
        }
        let (keyBytes, saltBytes) = (try bytes(key, "key", of: address), try bytes(salt, "salt", of: address) ?? [])
        let base = address.absoluteString.withoutTrailingSlashes
        let name = (["imgproxy"] + options).joined(separator: " ")
        return ImageService(name: name, address: address) { source, target in
            var parts: [String] = []
            if let width = target.width {
                parts.append(target.height.map { "rs:fill:\(width):\($0)" } ?? "rs:fit:\(width):0")
                if target.height != nil { parts.append("g:sm") }
            }
            parts += options
            switch sourceEncoding {
            case .base64: parts.append(Array(source.utf8).base64ForURLs(isPadded: false))
            case .plain: parts += ["plain", source.escaped(keeping: "/:")]
            }
            let path = "/" + parts.joined(separator: "/")
            let signature = keyBytes.map {
                Signature.code(of: saltBytes + path.utf8, key: $0, .sha256).base64ForURLs(isPadded: false)
            }
            return "\(base)/\(signature ?? "insecure")\(path)"
        }
    }

    /// Makes the service of a Thumbor server, or of a server with the same URLs.
    ///
    /// Its URLs are signed (HMAC-SHA1) if you pass a key. Users can extract a key from an app.
    /// - Parameters:
    ///   - address: The URL of the server.
    ///   - key: The key of the server, SECURITY_KEY. Default: none, for servers that allow unsafe URLs.
    ///   - filters: The filters, such as `quality(80)` or `format(webp)`. Default: none.
    public static func thumbor(at address: URL, key: String? = nil, filters: [String] = []) -> ImageService {
        let base = address.absoluteString.withoutTrailingSlashes
        let name = (["thumbor"] + filters).joined(separator: " ")
        let keyBytes = key.map { Array($0.utf8) }
        return ImageService(name: name, address: address) { source, target in
            var parts: [String] = []
            if let width = target.width {
                // Fitting never enlarges an image. The box is much higher than wide, so only its width matters.
                parts += target.height.map { ["\(width)x\($0)", "smart"] } ?? ["fit-in", "\(width)x\(width * 16)"]
            }
            if !filters.isEmpty { parts.append("filters:" + filters.joined(separator: ":")) }
            parts.append(source.escaped(keeping: "/"))
            let path = parts.joined(separator: "/")
            let signature = keyBytes.map {
                Signature.code(of: Array(path.utf8), key: $0, .sha1).base64ForURLs(isPadded: true)
            }
            return "\(base)/\(signature ?? "unsafe")/\(path)"
        }
    }

    /// Makes the service that fetches images for a cloud of Cloudinary, or for a server with the same URLs.
    ///
    /// Its URLs are signed if you pass a secret. Users can extract a secret from an app.
    /// - Parameters:
    ///   - address: The URL of the cloud, such as https://res.cloudinary.com/demo.
    ///   - secret: The API secret of the cloud. Default: none, for clouds that allow unsigned URLs.
    ///   - options: Further transformations, such as `f_auto` or `q_auto`. Default: none.
    ///   - isLongSignature: Whether signatures have 32 characters and use SHA-256, depending on a setting of the cloud. Default:
    ///     no, which makes 8 characters with SHA-1.
    public static func cloudinary(
        at address: URL,
        secret: String? = nil,
        options: [String] = [],
        isLongSignature: Bool = false
    ) -> ImageService {
        let base = address.absoluteString.withoutTrailingSlashes + "/image/fetch"
        let name = (["cloudinary"] + options).joined(separator: " ")
        return ImageService(name: name, address: address) { source, target in
            var transformations: [String] = []
            if let width = target.width {
                transformations += target.height.map { ["c_fill", "g_auto", "h_\($0)"] } ?? ["c_limit"]
                transformations.append("w_\(width)")
            }
            transformations += options
            let parts = transformations.isEmpty ? [] : [transformations.joined(separator: ",")]
            let path = (parts + [source.escaped(keeping: "/:")]).joined(separator: "/")
            guard let secret else { return "\(base)/\(path)" }
            let digest = Signature.hash(of: Array((path + secret).utf8), isLongSignature ? .sha256 : .sha1)
            let signature = digest.base64ForURLs(isPadded: false).prefix(isLongSignature ? 32 : 8)
            return "\(base)/s--\(signature)--/\(path)"
        }
    }

    /// Makes a service from a template of its URLs.
    ///
    ///     let service = try ImageService.template("https://images.example.org/{width}x{height}/{url}")
    ///
    /// - Parameter template: The URL of an image with three placeholders: `{width}` in pixels; `{height}`, which is 0 unless
    ///   ``aspectRatio`` is set; and the URL of the image, as `{url}` with all special characters escaped or as `{source}`
    ///   unchanged. Images at their original size are loaded from their own URLs.
    /// - Throws: `ImageError.Code.invalidRequest` if the template lacks the width or the image, or makes no URL.
    public static func template(_ template: String) throws(ImageError) -> ImageService {
        @Sendable func fill(_ source: String, _ target: Target) -> String {
            guard let width = target.width else { return source }
            // The URL of the image is inserted last, since it may contain the placeholders.
            return template.replacing("{width}", with: "\(width)")
                .replacing("{height}", with: "\(target.height ?? 0)")
                .replacing("{url}", with: source.escaped())
                .replacing("{source}", with: source)
        }
        let sample = URL(string: fill("https://example.org/a", Target(width: 1)))
        var missing: [String] = []
        if !template.contains("{width}") { missing.append("{width}") }
        if !template.contains("{url}"), !template.contains("{source}") { missing.append("{url} or {source}") }
        guard missing.isEmpty, let sample, sample.host() != nil else {
            throw ImageError(
                .invalidRequest,
                url: sample,
                reason: missing.isEmpty
                    ? "The template of an image service makes no URLs: \(template)"
                    : "The template of an image service lacks \(missing.joined(separator: " and ")): \(template)",
                remedy: "Write a URL with {width} and {url} in it, such as https://example.org/{width}/{url}."
            )
        }
        // The name is part of cache keys, so it contains only a hash of the query, which may include the server's key.
        var name = String(template.prefix { $0 != "?" })
        if name != template {
            name += " \(Signature.hash(of: Array(template.utf8), .sha256).base64ForURLs(isPadded: false).prefix(12))"
        }
        return ImageService(name: name, address: sample, makeText: fill)
    }

    private static func bytes(_ text: String?, _ name: String, of address: URL) throws(ImageError) -> [UInt8]? {
        guard let text else { return nil }
        if let bytes = [UInt8](hexadecimal: text) { return bytes }
        throw ImageError(
            .invalidRequest,
            url: address,
            reason: "The \(name) of an imgproxy server is not in hexadecimal digits",
            remedy: "Pass it as the server has it in IMGPROXY_\(name.uppercased())."
        )
    }
}
