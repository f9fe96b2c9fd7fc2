package import FoundationEssentials

/// A decoder that the library asks for more than for images. Each part beside those of ``ImageDecoding`` has a default, which is that of
/// an app's decoder.
package protocol ExtendedDecoding: ImageDecoding {
    /// Whether a file of this format can take seconds, however small it is, so that it is decoded on the queue of slow ones.
    func isSlow(_ format: ImageFormat) -> Bool

    /// The format, perhaps one that the library does not know, as which a decoder of whatever is installed would decode a file.
    /// - Parameter format: What the library recognizes, or the hint of the request, or unknown.
    /// - Returns: `nil` when nothing that is installed reads the file, and for a decoder of formats of its own.
    func installedFormat(_ head: Data, as format: ImageFormat) -> ImageFormat?

    /// Whether the files of the decoder may have a thumbnail, which it finds.
    var findsThumbnails: Bool { get }

    /// The thumbnail of a file as the first partial image: upright, at the size of the options as far as that is worth it.
    /// - Returns: `nil` when there is none, or none that can be a small version of the image. It takes no more than a
    ///   millisecond or two.
    func thumbnail(in data: Data, options: DecodeOptions) -> WebImage?

    /// Decodes a whole file into upright pixels, also where the decoder waits, such as for another process.
    /// - Parameters:
    ///   - reservation: The memory of the decode, which what goes on when the decoder gives up has to retain.
    ///   - isCancelled: Whether the image is no longer wanted; called several times a second while the decoder waits.
    /// - Throws: As the method without these parameters, and ``ImageError/Code/cancelled``.
    func decode(
        _ data: Data,
        options: DecodeOptions,
        holding reservation: MemoryBudget.Reservation?,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage

    /// Whether parts of a file can be decoded without the memory for all of it, which its header says.
    func decodesRegions(of data: Data) -> Bool

    /// Decodes a part into upright pixels, which are those of the whole image.
    /// - Parameter isCancelled: Whether the part is no longer wanted; called several times a second.
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
    /// The decoder with all parts. One of an app has the defaults.
    package var extended: any ExtendedDecoding { self as? any ExtendedDecoding ?? PlainDecoder(decoder: self) }
}

/// An app's decoder with the default parts.
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
