public import FoundationEssentials
import Synchronization

/// The decoders and encoders of a manager. The one that was added last is asked first. Can be used from any thread.
public final class CoderRegistry: Sendable {
    /// Each decoder as it was given, and with all parts.
    private let decoders: OrderedRegistry<(given: any ImageDecoding, extended: any ExtendedDecoding)>
    private let encoders: OrderedRegistry<any ImageEncoding>
    private let remedy: @Sendable (ImageFormat) -> String?
    /// Those who hear of other decoders.
    private let changes = Observers<Void>()
    /// The Accept field of so many decoders.
    private let acceptField = Mutex<(count: Int, field: [String: String])>((0, [:]))

    /// - Parameters:
    ///   - decoders: The decoders in the order in which they are asked.
    ///   - encoders: The encoders in the order in which they are asked.
    ///   - remedy: Returns an instruction for installing a decoder of a format; `nil` when there is none.
    package init(
        _ decoders: [any ImageDecoding],
        encoders: [any ImageEncoding] = [],
        remedy: @escaping @Sendable (ImageFormat) -> String? = { _ in nil }
    ) {
        self.decoders = OrderedRegistry(decoders.map { ($0, $0.extended) })
        self.encoders = OrderedRegistry(encoders)
        self.remedy = remedy
    }

    /// Adds a decoder that is asked before all others.
    public func add(_ decoder: any ImageDecoding) {
        decoders.add((decoder, decoder.extended))
        changes.notify(())
    }

    /// Adds an encoder that is asked before all others.
    public func add(_ encoder: any ImageEncoding) {
        encoders.add(encoder)
    }

    /// Adds a coder that is asked before all others, both to decode and to encode.
    public func add(_ coder: any ImageDecoding & ImageEncoding) {
        add(coder as any ImageDecoding)
        add(coder as any ImageEncoding)
    }

    /// Calls a handler when a decoder has been added, for as long as the token exists.
    func observeAdditions(_ handler: @escaping @Sendable () -> Void) -> ObservationToken { changes.add(handler) }

    /// The decoder that is asked first for a format; `nil` if there is none.
    package func decoder(for format: ImageFormat) -> (any ImageDecoding)? {
        decoders.first { $0.given.canDecode(format) }?.given
    }

    /// The Accept field for these formats as far as they can be decoded, in the order of preference of browsers. The first call asks the
    /// system for its decoders, so it is not for the main thread.
    func acceptField(for allowed: @autoclosure () -> Set<ImageFormat>) -> [String: String] {
        let count = decoders.all.count
        if let known = acceptField.withLock({ $0.count == count ? $0.field : nil }) { return known }
        let wanted: [(ImageFormat, String)] = [
            (.jpegXL, "image/jxl"), (.avif, "image/avif"), (.webp, "image/webp"), (.heif, "image/heic"),
            (.png, "image/apng"), (.svg, "image/svg+xml"),
        ]
        let formats = allowed()
        let names = wanted.filter { formats.contains($0.0) && decoder(for: $0.0) != nil }.map(\.1)
        let field = ["Accept": (names + ["image/*;q=0.8", "*/*;q=0.5"]).joined(separator: ",")]
        acceptField.withLock { $0 = (count, field) }
        return field
    }

    /// The encoder that is asked first for a format; `nil` if there is none.
    package func encoder(for format: ImageFormat) -> (any ImageEncoding)? {
        encoders.first { $0.canEncode(format) }
    }

    /// Decodes a file. Not for the main thread.
    /// - Throws: ``ImageError/Code/badImageData`` when the file is damaged or no image, ``ImageError/Code/imageTooLarge``, or
    ///   ``ImageError/Code/unsupportedFormat`` when no decoder reads its format.
    public func decode(_ data: Data, options: DecodeOptions = DecodeOptions()) throws(ImageError) -> WebImage {
        let decoder = try decoder(for: data, url: options.url, hint: options.formatHint)
        let image = try decoder.decode(data, options: options)
        return options.pixelFormat.map { image.converted(to: $0) } ?? image
    }

    /// The decoder of a file.
    /// - Parameters:
    ///   - format: The format of the file. Default: the one that its bytes show, or else that of the hint.
    ///   - hint: The format of a file without a signature.
    /// - Throws: ``ImageError/Code/badImageData`` when the file is no image, ``ImageError/Code/unsupportedFormat`` when no
    ///   decoder reads its format.
    package func decoder(
        for data: Data,
        as format: ImageFormat? = nil,
        url: URL?,
        hint: ImageFormat? = nil,
        preferring preferred: (any ImageDecoding)? = nil
    ) throws(ImageError) -> any ExtendedDecoding {
        let format = format ?? ImageFormat(sniffing: data, hint: hint)
        let head = data.prefix(ImageFormat.sniffLength)
        if let preferred, preferred.canDecode(head, format: format) { return preferred.extended }
        if let decoder = decoders.first(where: { $0.given.canDecode(head, format: format) }) { return decoder.extended }
        guard format != .unknown else {
            throw Self.unknownData(data, url)
        }
        throw ImageError(
            .unsupportedFormat,
            url: url,
            reason: "Nothing on this machine decodes \(format.name)",
            remedy: remedy(format)
                ?? "Give the manager a decoder for it (ImageManager.Configuration.decoders)."
        )
    }

    /// The error for bytes that are not an image.
    private static func unknownData(_ data: Data, _ url: URL?) -> ImageError {
        let options = DecodeOptions(url: url)
        guard !data.isEmpty else { return options.badData("The body is empty") }
        let start = String(decoding: data.prefix(64), as: UTF8.self).lowercased()
        guard start.contains("<!doctype html") || start.contains("<html") else {
            return options.badData("The \(data.count) bytes are of no known image format")
        }
        let error = options.badData("The body is an HTML page, not an image")
        // It may be the login page of the network.
        return url?.scheme?.lowercased() == "http" ? error.dependingOnRequest() : error
    }
}
