public import FoundationEssentials

/// What the first bytes of a file say about the image: enough to lay out a widget and to turn down a bomb before any
/// memory is taken for pixels.
public struct ImageHeader: Sendable, Hashable {
    /// The format.
    public let format: ImageFormat
    /// Width and height in pixels as stored, before orientation.
    public let storedSize: PixelSize
    /// How the pixels have to be turned.
    public let orientation: ImageOrientation

    /// Width and height in pixels when upright.
    public var size: PixelSize { orientation.apply(to: storedSize) }

    package init(format: ImageFormat, storedSize: PixelSize, orientation: ImageOrientation = .up) {
        self.format = format
        self.storedSize = storedSize
        self.orientation = orientation
    }

    /// Reads the header from the beginning of a file.
    /// - Parameter data: The file, or as much of it as has come.
    /// - Returns: nil when more bytes are needed, or when the format has no header that the library reads: JPEG, PNG,
    ///   GIF, WebP, TIFF and BMP have one.
    public init?(reading data: Data) {
        let format = ImageFormat(sniffing: data)
        let header: ImageHeader? = data.withUnsafeBytes { raw in
            let bytes = ByteReader(raw)
            return switch format {
            case .jpeg: JPEGHeader.read(bytes)
            case .png: PNGHeader.read(bytes)
            case .gif: Self.gif(bytes)
            case .webp: WebPHeader.read(bytes)
            case .tiff: TIFFHeader.read(bytes)
            case .bmp: Self.bmp(bytes)
            default: nil
            }
        }
        guard let header else { return nil }
        self = header
    }

    /// GIF89a specification, section 18: the logical screen.
    private static func gif(_ bytes: ByteReader) -> ImageHeader? {
        guard let width = bytes.uint16LE(6), let height = bytes.uint16LE(8) else { return nil }
        return ImageHeader(format: .gif, storedSize: PixelSize(width: Int(width), height: Int(height)))
    }

    /// The size in BITMAPCOREHEADER or BITMAPINFOHEADER; a negative height means rows from the top.
    private static func bmp(_ bytes: ByteReader) -> ImageHeader? {
        guard let headerSize = bytes.uint32LE(14) else { return nil }
        if headerSize == 12 {
            guard let width = bytes.uint16LE(18), let height = bytes.uint16LE(20) else { return nil }
            return ImageHeader(format: .bmp, storedSize: PixelSize(width: Int(width), height: Int(height)))
        }
        guard let width = bytes.uint32LE(18), let height = bytes.uint32LE(22) else { return nil }
        let size = PixelSize(
            width: Int(Int32(bitPattern: width).magnitude),
            height: Int(Int32(bitPattern: height).magnitude)
        )
        return ImageHeader(format: .bmp, storedSize: size)
    }
}
