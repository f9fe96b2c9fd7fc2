package import FoundationEssentials

/// The size and the orientation of an image, from the first bytes of its file: enough to lay out a widget, and to
/// reject an image that is too large before memory is allocated for its pixels.
package struct ImageHeader: Sendable, Hashable {
    /// The format.
    package let format: ImageFormat
    /// Width and height in pixels as stored, before ``orientation``.
    package let storedSize: PixelSize
    /// How the stored pixels are oriented.
    package let orientation: ImageOrientation
    /// Whether decoding makes them upright.
    private var isTurned = true
    /// The bytes that a decoder keeps of the file beside its pixels, whatever the size at which it is decoded: coefficients of
    /// a JPEG in several scans, planes of a video frame. `nil` while the part of the file that says so has not arrived.
    package var workingByteCount: Int? = 0

    /// The orientation that decoding applies.
    package var turn: ImageOrientation { isTurned ? orientation : .up }

    /// Width and height in pixels of the decoded image, before it is scaled.
    package var size: PixelSize { turn.apply(to: storedSize) }

    package init(format: ImageFormat, storedSize: PixelSize, orientation: ImageOrientation = .up) {
        self.format = format
        self.storedSize = storedSize
        self.orientation = orientation
    }

    /// The header as it counts with options, which may leave the pixels as they are stored.
    package func turned(by options: DecodeOptions) -> ImageHeader {
        var header = self
        header.isTurned = options.appliesOrientation
        return header
    }

    /// Reads the header from the beginning of a file.
    ///
    /// The result is `nil` when further bytes are needed, or when the format is not one of JPEG, PNG, GIF, WebP, TIFF, BMP,
    /// ICO, AVIF and HEIF.
    /// - Parameters:
    ///   - data: The file, or the part of it that has arrived.
    ///   - hint: The format of a file without a signature.
    package init?(reading data: Data, hint: ImageFormat? = nil) {
        self.init(reading: data, as: ImageFormat(sniffing: data, hint: hint))
    }

    /// Reads the header from the beginning of a file whose format is known.
    init?(reading data: Data, as format: ImageFormat) {
        guard let read = format.descriptor?.readHeader,
            let header = data.withUnsafeBytes({ read(ByteReader($0)) })
        else { return nil }
        self = header
    }
}
