extension PixelBuffer {
    // A generic type of error would make one initialiser of this and of that whose closure throws nothing. Swift 6.3 calls such a
    // closure wrongly then, unless it specialises the initialiser: the closure overwrites the register of the error.

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
