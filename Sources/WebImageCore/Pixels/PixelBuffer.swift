#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Rows of pixels in memory, top to bottom, with no padding between rows: what GTK's GL renderer uploads in one call.
///
/// `@unchecked`: the memory is written only inside `init` and never again.
public final class PixelBuffer: @unchecked Sendable {
    /// How a pixel is stored, 8 bits a channel, sRGB.
    public enum Format: Sendable {
        /// Three bytes: red, green, blue. For images without alpha.
        case rgb
        /// Four bytes: red, green, blue, alpha; the colours are multiplied by alpha.
        case rgbaPremultiplied

        /// Bytes in one pixel.
        public var bytesPerPixel: Int {
            switch self {
            case .rgb: 3
            case .rgbaPremultiplied: 4
            }
        }
    }

    /// Width and height in pixels, both at least 1.
    public let size: PixelSize
    /// How each pixel is stored.
    public let format: Format
    private let memory: UnsafeMutableRawBufferPointer
    /// Gives the memory back; `nil`: with free.
    private let release: (@Sendable () -> Void)?

    /// Makes a buffer that `fill` writes.
    /// - Parameters:
    ///   - size: Width and height in pixels, at least 1x1.
    ///   - format: How each pixel is stored.
    ///   - fill: Writes the pixels into memory that holds anything at first.
    /// - Returns: `nil` when the size is empty or the system has no memory for it.
    public init?<E: Error>(
        size: PixelSize,
        format: Format,
        fill: (UnsafeMutableRawBufferPointer) throws(E) -> Void
    ) throws(E) {
        let (count, overflow) = size.pixelCount.multipliedReportingOverflow(by: format.bytesPerPixel)
        // malloc, because it can say no: an image that does not fit is an error, not the end of the process.
        guard !size.isEmpty, !overflow, let start = malloc(count) else { return nil }
        self.size = size
        self.format = format
        release = nil
        memory = UnsafeMutableRawBufferPointer(start: start, count: count)
        // From here on deinit frees, also when `fill` throws.
        try fill(memory)
    }

    /// Takes over memory that nobody else will write to.
    /// - Parameter release: Gives it back. Default: with free.
    package init(
        adopting start: UnsafeMutableRawPointer,
        size: PixelSize,
        format: Format,
        release: (@Sendable () -> Void)? = nil
    ) {
        self.release = release
        self.size = size
        self.format = format
        memory = UnsafeMutableRawBufferPointer(start: start, count: size.pixelCount * format.bytesPerPixel)
    }

    deinit {
        if let release { release() } else { free(memory.baseAddress) }
    }

    /// The bytes of the pixels.
    public var byteCount: Int { memory.count }
    /// Bytes from one row to the next.
    public var bytesPerRow: Int { size.width * format.bytesPerPixel }
    /// Whether a pixel can be other than opaque.
    public var hasAlpha: Bool { format == .rgbaPremultiplied }

    /// The bytes, valid during the call.
    public func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try body(UnsafeRawBufferPointer(memory))
    }

    /// The first byte; valid as long as the buffer is retained.
    package var baseAddress: UnsafeRawPointer { UnsafeRawPointer(memory.baseAddress!) }
}
