internal import CWebImageCodecShims
package import FoundationEssentials
package import WebImageCore
import WebImageFormats

/// Decodes JPEG XL with libjxl: whole or while a file arrives, still or animated.
package struct JPEGXLCoder: ExtendedDecoding {
    /// Until version 1.0, each version has a separate name (as in jxl.c).
    private static let isInstalled = (7...20).contains { gwi_library_is_installed("libjxl.so.0.\($0)") }

    private let isAvailable: @Sendable () -> Bool

    /// A decoder that loads libjxl with its first image, if installed.
    package init() { isAvailable = { Self.isInstalled } }

    /// A decoder for which libjxl is loaded now.
    package static func loaded() -> JPEGXLCoder { JPEGXLCoder(isLoaded: gwi_jxl_load()) }

    private init(isLoaded: Bool) { isAvailable = { isLoaded } }

    package func canDecode(_ format: ImageFormat) -> Bool { format == .jpegXL && isAvailable() }

    package func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        guard gwi_jxl_load() else { return try PixbufCoder().decode(data, options: options) }
        let still = try data.withByteReader { bytes throws(ImageError) -> WebImage? in
            let reader = try JPEGXLReader(options, isArriving: false)
            try reader.give(bytes, isEnd: true)
            guard try reader.advance() else { throw reader.truncation }
            return reader.isOfFrames ? nil : try reader.image(isPartial: false)
        }
        if let still { return still }
        return try JPEGXLFrameDecoder.image(data, options)
    }

    package func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        gwi_jxl_load() ? JPEGXLIncrementalDecoder(options) : nil
    }
}

/// Decodes an arriving JPEG XL file, coarse at first. The first frame of an animation shows until the file is complete.
final class JPEGXLIncrementalDecoder: IncrementalImageDecoding {
    private let options: DecodeOptions
    /// Only the whole image has more than 8 bits a channel.
    private let partialOptions: DecodeOptions
    private var reader: JPEGXLReader?
    /// The bytes that the decoder has not read yet.
    private var pending = Data()
    private var hasNews = false
    private var isDone = false

    init(_ options: DecodeOptions) {
        self.options = options
        var options = options
        options.keepsWideColors = false
        partialOptions = options
    }

    func append(_ data: Data) throws(ImageError) {
        guard !isDone else { return }
        pending.append(data)
        if reader == nil {
            guard let header = ImageHeader(reading: pending) else { return }
            try options.check(header.size)
            reader = try JPEGXLReader(partialOptions, isArriving: true)
        }
        guard let reader else { return }
        let unread = try pending.withByteReader { bytes throws(ImageError) in
            try reader.give(bytes, isEnd: false)
            isDone = try reader.advance()
            return reader.takeBack()
        }
        pending = Data(pending.suffix(unread))
        hasNews = true
    }

    func partialImage() -> WebImage? {
        guard hasNews, let reader, isDone || reader.flush() else { return nil }
        hasNews = false
        return try? reader.image(isPartial: true)
    }

    func finish(_ data: Data) throws(ImageError) -> WebImage {
        let reader = exchange(&reader, with: nil)
        guard isDone, let reader, !reader.isAnimated, !(options.keepsWideColors && reader.isDeepFile) else {
            return try JPEGXLCoder().decode(data, options: options)
        }
        return try reader.image(isPartial: false)
    }
}
