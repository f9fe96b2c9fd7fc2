extension PixelBuffer {
    // A generic type of error would do for this and for that whose closure throws nothing. Swift 6.3 then miscompiles a call across
    // modules: a closure whose error is Never does not preserve the register of the error, in which its caller finds one.

    /// Makes a buffer and fills it, as a coder does that may fail.
    /// - Parameters:
    ///   - size: Width and height in pixels, at least 1x1.
    ///   - format: How each pixel is stored.
    ///   - fill: Writes the pixels into uninitialised memory.
    /// - Returns: `nil` when the size is empty or the system has no memory for it.
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
