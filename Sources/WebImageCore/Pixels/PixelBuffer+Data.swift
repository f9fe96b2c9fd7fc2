package import FoundationEssentials

extension PixelBuffer {
    /// The bytes of the pixels, which share their memory.
    package var data: Data {
        Data(
            bytesNoCopy: UnsafeMutableRawPointer(mutating: baseAddress),
            count: byteCount,
            deallocator: .custom { _, _ in withExtendedLifetime(self) {} }
        )
    }

    /// Takes bytes as pixels, with the memory that they are in.
    /// - Returns: `nil` when their number is not that of the pixels, or there is no memory.
    package convenience init?(_ data: Data, size: PixelSize, format: Format, colors: Colors) {
        let bytesPerPixel = format.bytesPerPixel * colors.bytesPerChannel
        let (count, overflow) = size.pixelCount.multipliedReportingOverflow(by: bytesPerPixel)
        guard !size.isEmpty, !overflow, data.count == count else { return nil }
        // Few bytes can be a part of the value itself. More are elsewhere, and stay there as long as a copy of the value is kept.
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

    /// The number of bytes up to which a copy costs next to nothing.
    private static let largestCopy = 1024
}
