public import FoundationEssentials
import Synchronization

/// The coders of a manager, asked from the newest to the oldest. From any thread.
public final class CoderRegistry: Sendable {
    /// Stands for a coder that was added.
    public struct Registration: Hashable, Sendable {
        fileprivate let number: Int
    }

    private struct State {
        var decoders: [(number: Int, coder: any ImageDecoding)] = []
        var encoders: [(number: Int, coder: any ImageEncoding)] = []
        var lastNumber = 0

        mutating func register(_ add: (inout State, Int) -> Void) -> Registration {
            lastNumber += 1
            add(&self, lastNumber)
            return Registration(number: lastNumber)
        }
    }

    private let state = Mutex(State())
    private let remedy: @Sendable (ImageFormat) -> String?

    /// - Parameters:
    ///   - decoders: From the oldest to the newest.
    ///   - encoders: From the oldest to the newest.
    ///   - remedy: Says how to install a decoder of a format, if that is possible.
    package init(
        _ decoders: [any ImageDecoding],
        encoders: [any ImageEncoding] = [],
        remedy: @escaping @Sendable (ImageFormat) -> String? = { _ in nil }
    ) {
        self.remedy = remedy
        for decoder in decoders { add(decoder) }
        for encoder in encoders { add(encoder) }
    }

    /// Adds a decoder that is asked before all others.
    @discardableResult
    public func add(_ decoder: any ImageDecoding) -> Registration {
        state.withLock { $0.register { state, number in state.decoders.append((number, decoder)) } }
    }

    /// Adds an encoder that is asked before all others.
    @discardableResult
    public func add(_ encoder: any ImageEncoding) -> Registration {
        state.withLock { $0.register { state, number in state.encoders.append((number, encoder)) } }
    }

    /// Takes a coder out again. What it is at just now it finishes.
    public func remove(_ registration: Registration) {
        state.withLock { state in
            state.decoders.removeAll { $0.number == registration.number }
            state.encoders.removeAll { $0.number == registration.number }
        }
    }

    /// The newest decoder of `format`.
    public func decoder(for format: ImageFormat) -> (any ImageDecoding)? {
        state.withLock { $0.decoders }.last { $0.coder.canDecode(format) }?.coder
    }

    /// The newest encoder of `format`.
    public func encoder(for format: ImageFormat) -> (any ImageEncoding)? {
        state.withLock { $0.encoders }.last { $0.coder.canEncode(format) }?.coder
    }

    /// Decodes a file. Takes its time: not for the main thread.
    /// - Throws: ``ImageError/Code/badImageData`` when it is no sound image, ``ImageError/Code/imageTooLarge``,
    ///   ``ImageError/Code/unsupportedFormat`` when no coder on this machine decodes it.
    public func decode(_ data: Data, options: DecodeOptions = DecodeOptions()) throws(ImageError) -> WebImage {
        let decoder = try decoder(for: data, url: options.url, hint: options.formatHint)
        return try decoder.decode(data, options: options).converted(for: options)
    }

    /// The decoder of a file.
    /// - Parameter hint: What a file is that does not say so itself.
    /// - Throws: ``ImageError/Code/badImageData`` when it is no image, ``ImageError/Code/unsupportedFormat`` when no
    ///   coder on this machine decodes it.
    package func decoder(
        for data: Data,
        url: URL?,
        hint: ImageFormat? = nil,
        preferring preferred: (any ImageDecoding)? = nil
    ) throws(ImageError) -> any ImageDecoding {
        let format = ImageFormat(sniffing: data, hint: hint)
        let head = data.prefix(ImageFormat.sniffLength)
        if let preferred, preferred.canDecode(head, format: format) { return preferred }
        if let decoder = state.withLock({ $0.decoders }).last(where: { $0.coder.canDecode(head, format: format) }) {
            return decoder.coder
        }
        guard format != .unknown else {
            throw DecodeOptions(url: url).badData(Self.describe(data))
        }
        throw ImageError(
            .unsupportedFormat,
            url: url,
            reason: "Nothing on this machine decodes \(format.rawValue.uppercased())",
            remedy: remedy(format)
                ?? "Give the manager a decoder for it (ImageManager.Configuration.decoders)."
        )
    }

    /// What the bytes are instead of an image, as far as that helps.
    private static func describe(_ data: Data) -> String {
        guard !data.isEmpty else { return "The body is empty" }
        let start = String(decoding: data.prefix(64), as: UTF8.self).lowercased()
        if start.contains("<!doctype html") || start.contains("<html") {
            return "The body is an HTML page, not an image"
        }
        return "The \(data.count) bytes are of no known image format"
    }
}
