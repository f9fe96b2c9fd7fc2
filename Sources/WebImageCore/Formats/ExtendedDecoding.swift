package import FoundationEssentials

/// A decoder with the operations that the library's own decoders add to ``ImageDecoding``. Each has a default, which decoders of
/// apps use.
package protocol ExtendedDecoding: ImageDecoding {
    /// Whether even a small file of this format can take seconds to decode. Such files use a separate queue.
    func isSlow(_ format: ImageFormat) -> Bool

    /// The format as which an installed loader would decode a file, possibly one unknown to the library.
    /// - Parameter format: The format that the library recognizes, the hint of the request, or unknown.
    /// - Returns: `nil` if no installed loader reads the file, and for decoders with a fixed list of formats.
    func installedFormat(_ head: Data, as format: ImageFormat) -> ImageFormat?

    /// Whether files may contain a thumbnail that the decoder can extract.
    var findsThumbnails: Bool { get }

    /// The embedded thumbnail of a file as the first partial image: upright, scaled towards the size of the options. Takes a
    /// millisecond or two at most.
    /// - Returns: `nil` if there is none, or it cannot be a small version of the image.
    func thumbnail(in data: Data, options: DecodeOptions) -> WebImage?

    /// Decodes a whole file into upright pixels, even if the decoder must wait, for example for another process.
    /// - Parameters:
    ///   - reservation: The memory of the decode. Work that outlives the call must retain it.
    ///   - isCancelled: Whether the image is no longer wanted. Called several times a second while the decoder waits.
    /// - Throws: The errors of ``ImageDecoding/decode(_:options:)``, and ``ImageError/Code/cancelled``.
    func decode(
        _ data: Data,
        options: DecodeOptions,
        holding reservation: MemoryBudget.Reservation?,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage

    /// Whether the header of a file shows that regions can be decoded without the memory for the whole image.
    func decodesRegions(of data: Data) -> Bool

    /// Decodes a region into upright pixels, equal to the pixels of the whole image.
    /// - Parameter isCancelled: Whether the region is no longer wanted. Called several times a second.
    func decode(
        _ region: DecodeRegion,
        of data: Data,
        options: DecodeOptions,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage
}

extension ExtendedDecoding {
    package var findsThumbnails: Bool { false }

    package func isSlow(_ format: ImageFormat) -> Bool { false }

    package func installedFormat(_ head: Data, as format: ImageFormat) -> ImageFormat? { nil }

    package func thumbnail(in data: Data, options: DecodeOptions) -> WebImage? { nil }

    package func decodesRegions(of data: Data) -> Bool { false }

    package func decode(
        _ data: Data,
        options: DecodeOptions,
        holding reservation: MemoryBudget.Reservation?,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage {
        try decode(data, options: options)
    }

    package func decode(
        _ region: DecodeRegion,
        of data: Data,
        options: DecodeOptions,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage {
        throw options.badData("The decoder of the file decodes no regions")
    }
}

extension ImageDecoding {
    /// The decoder itself, or a wrapper with the defaults for a decoder of an app.
    package var extended: any ExtendedDecoding { self as? any ExtendedDecoding ?? PlainDecoder(decoder: self) }
}

/// A decoder of an app, with the defaults of ``ExtendedDecoding``.
private struct PlainDecoder<Decoder: ImageDecoding>: ExtendedDecoding {
    let decoder: Decoder

    func canDecode(_ format: ImageFormat) -> Bool { decoder.canDecode(format) }

    func canDecode(_ head: Data, format: ImageFormat) -> Bool { decoder.canDecode(head, format: format) }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try decoder.decode(data, options: options)
    }

    func makeIncrementalDecoder(for format: ImageFormat, options: DecodeOptions) -> (any IncrementalImageDecoding)? {
        decoder.makeIncrementalDecoder(for: format, options: options)
    }
}
