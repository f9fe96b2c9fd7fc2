import Glibc

/// Rows of pixels in memory, top to bottom and without padding, so that GTK's GL renderer uploads them in one call.
///
/// `@unchecked`: the memory is written by `init` and by `update(_:)` before the buffer is shared, and never again.
public final class PixelBuffer: @unchecked Sendable {
    /// The layout of a pixel, 8 bits a channel in sRGB.
    public enum Format: Sendable {
        /// Three bytes for images without alpha: red, green, blue.
        case rgb
        /// Four bytes: red, green, blue, alpha. The colors are premultiplied.
        case rgbaPremultiplied

        /// Bytes in one pixel.
        package var bytesPerPixel: Int {
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
    /// The gamut and depth of the channels. Apps receive only standard colors.
    package let colors: Colors
    private let memory: UnsafeMutableRawBufferPointer
    /// Memory that is tried before malloc. A decode worker sets it before its first decode.
    package nonisolated(unsafe) static var pool: (any PixelMemory)?
    /// Releases the memory; `nil` means free(3).
    private let release: (@Sendable () -> Void)?

    /// Makes a buffer and fills it.
    /// - Parameters:
    ///   - size: Width and height in pixels, at least 1x1.
    ///   - format: How each pixel is stored.
    ///   - fill: Writes the pixels into uninitialized memory.
    /// - Returns: `nil` if the size is empty or the system has no memory for it.
    public convenience init?(size: PixelSize, format: Format, fill: (UnsafeMutableRawBufferPointer) -> Void) {
        self.init(size: size, format: format, colors: .standard, fill: fill)
    }

    /// Makes a buffer of any gamut and depth, and fills it.
    package convenience init?(
        size: PixelSize,
        format: Format,
        colors: Colors,
        fill: (UnsafeMutableRawBufferPointer) -> Void
    ) {
        self.init(uninitialized: size, format, colors)
        fill(memory)
    }

    /// Makes a buffer with uninitialized pixels, which the caller writes with ``update(_:)``.
    package init?(uninitialized size: PixelSize, _ format: Format, _ colors: Colors) {
        let bytesPerPixel = format.bytesPerPixel * colors.bytesPerChannel
        let (count, overflow) = size.pixelCount.multipliedReportingOverflow(by: bytesPerPixel)
        // malloc can fail, so an image that does not fit is an error and not a crash.
        guard !size.isEmpty, !overflow else { return nil }
        let pool = Self.pool
        let pooled = pool?.allocate(count)
        guard let start = pooled ?? malloc(count) else { return nil }
        self.size = size
        self.format = format
        self.colors = colors
        if let pool, pooled != nil { release = { pool.free() } } else { release = nil }
        memory = UnsafeMutableRawBufferPointer(start: start, count: count)
    }

    /// Takes ownership of memory that is never written again.
    /// - Parameter release: Releases the memory. Default: free(3).
    package init(
        adopting start: UnsafeMutableRawPointer,
        size: PixelSize,
        format: Format,
        colors: Colors = .standard,
        release: (@Sendable () -> Void)? = nil
    ) {
        self.release = release
        self.size = size
        self.format = format
        self.colors = colors
        let bytesPerPixel = format.bytesPerPixel * colors.bytesPerChannel
        memory = UnsafeMutableRawBufferPointer(start: start, count: size.pixelCount * bytesPerPixel)
    }

    /// The same pixels, interpreted in another gamut.
    private init(_ pixels: PixelBuffer, in gamut: Colors.Gamut) {
        size = pixels.size
        format = pixels.format
        colors = Colors(gamut: gamut, isDeep: pixels.colors.isDeep)
        memory = pixels.memory
        release = { withExtendedLifetime(pixels) {} }
    }

    /// Writes the pixels of a buffer that is not shared yet.
    package func update(_ body: (UnsafeMutableRawBufferPointer) -> Void) { body(memory) }

    /// The same pixels, interpreted in a gamut. The memory is shared.
    package func tagged(_ gamut: Colors.Gamut) -> PixelBuffer {
        gamut == colors.gamut ? self : PixelBuffer(self, in: gamut)
    }

    deinit {
        if let release { release() } else { free(memory.baseAddress) }
    }

    /// The bytes of the pixels.
    package var byteCount: Int { memory.count }
    /// Bytes from one row to the next.
    public var bytesPerRow: Int { size.width * bytesPerPixel }
    /// Bytes in one pixel.
    package var bytesPerPixel: Int { format.bytesPerPixel * colors.bytesPerChannel }
    /// Whether pixels can be transparent.
    public var hasAlpha: Bool { format == .rgbaPremultiplied }

    /// Calls body with the bytes, which are valid during the call.
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(UnsafeRawBufferPointer(memory))
    }

    /// The first byte; valid while the buffer is retained.
    package var baseAddress: UnsafeRawPointer { UnsafeRawPointer(memory.baseAddress!) }
}

/// A source of pixel memory other than malloc.
package protocol PixelMemory: Sendable {
    /// Memory for a buffer; `nil` if there is no room.
    func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer?

    /// Releases the memory of one buffer.
    func free()
}
