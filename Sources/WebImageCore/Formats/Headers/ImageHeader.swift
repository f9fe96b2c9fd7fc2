package import FoundationEssentials

/// The size and orientation of an image from the first bytes of its file. They suffice to lay out a widget, and to reject an
/// oversized image before allocating its pixels.
package struct ImageHeader: Sendable, Hashable {
    package let format: ImageFormat
    /// Width and height in pixels as stored, before ``orientation``.
    package let storedSize: PixelSize
    package let orientation: ImageOrientation
    /// Whether decoding turns the pixels upright.
    private var isTurned = true
    /// The bytes that a decoder keeps besides the pixels, at any decoded size: coefficients of a JPEG with several scans, planes of
    /// a video frame. `nil` until the part of the file that determines them has arrived.
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

    /// The header with the size of an image that these options decode, since they may leave the stored orientation.
    package func turned(by options: DecodeOptions) -> ImageHeader {
        var header = self
        header.isTurned = options.appliesOrientation
        return header
    }

    /// Reads the header from the beginning of a file.
    ///
    /// The result is `nil` if further bytes are needed, or the library reads no header of the format.
    /// - Parameters:
    ///   - data: The file, or the part of it that has arrived.
    ///   - hint: The format of a file without a signature.
    package init?(reading data: Data, hint: ImageFormat? = nil) {
        self.init(reading: data, as: ImageFormat(sniffing: data, hint: hint))
    }

    /// Reads the header of a file in memory.
    package init?(reading bytes: ByteReader) {
        let format = FormatDescriptor.all.first { $0.isSignature(bytes) }
        guard let header = format?.readHeader?(bytes) else { return nil }
        self = header
    }

    /// Reads the header from the beginning of a file whose format is known.
    init?(reading data: Data, as format: ImageFormat) {
        guard let read = format.descriptor?.readHeader,
            let header = data.withUnsafeBytes({ read(ByteReader($0)) })
        else { return nil }
        self = header
    }
}
