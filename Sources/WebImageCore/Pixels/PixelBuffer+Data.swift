package import FoundationEssentials

extension PixelBuffer {
    /// The bytes of the pixels, without a copy.
    package var data: Data {
        Data(
            bytesNoCopy: UnsafeMutableRawPointer(mutating: baseAddress),
            count: byteCount,
            deallocator: .custom { _, _ in withExtendedLifetime(self) {} }
        )
    }

    /// Makes a buffer from bytes, without a copy if they are many and aligned.
    /// - Returns: `nil` if the number of bytes does not match the size, or if out of memory.
    package convenience init?(_ data: Data, size: PixelSize, format: Format, colors: Colors) {
        let bytesPerPixel = format.bytesPerPixel * colors.bytesPerChannel
        let (count, overflow) = size.pixelCount.multipliedReportingOverflow(by: bytesPerPixel)
        guard !size.isEmpty, !overflow, data.count == count else { return nil }
        // A small Data stores its bytes inline. Larger ones stay at their address while a copy of the value exists.
        let start = data.withUnsafeBytes { $0.count > Self.largestCopy ? $0.baseAddress : nil }
        if let start, UInt(bitPattern: start) % UInt(colors.bytesPerChannel) == 0 {
            self.init(
                adopting: UnsafeMutableRawPointer(mutating: start),
                size: size,
                format: format,
                colors: colors,
                release: { withExtendedLifetime(data) {} }
            )
        } else {
            self.init(size: size, format: format, colors: colors) { memory in _ = data.copyBytes(to: memory) }
        }
    }

    /// Copying this many bytes costs next to nothing.
    private static let largestCopy = 1024
}
