extension PixelBuffer {
    // The error type is concrete. With a generic one, Swift 6.3 miscompiles a call across modules: a closure whose error is Never
    // does not preserve the register in which its caller finds an error.

    /// Makes a buffer and fills it with a closure that may fail.
    /// - Parameters:
    ///   - size: Width and height in pixels, at least 1x1.
    ///   - format: How each pixel is stored.
    ///   - fill: Writes the pixels into uninitialized memory.
    /// - Returns: `nil` if the size is empty or the system has no memory for it.
    /// - Throws: The error of `fill`.
    public convenience init?(
        size: PixelSize,
        format: Format,
        fill: (UnsafeMutableRawBufferPointer) throws(ImageError) -> Void
    ) throws(ImageError) {
        self.init(uninitialized: size, format, .standard)
        var failure: ImageError?
        update { memory in
            do throws(ImageError) { try fill(memory) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}
