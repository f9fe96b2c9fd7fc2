// Part of the core, since the memory of a decode is estimated before the decoder is asked.
extension PixelSize {
    /// The size of an image that the inverse DCT has divided.
    package func divided(by divisor: Int) -> PixelSize {
        PixelSize(width: (width + divisor - 1) / divisor, height: (height + divisor - 1) / divisor)
    }

    /// The largest divisor of the inverse DCT that leaves an image of the target's size, or one and a half times as large, of
    /// those for which libjpeg-turbo has vector code.
    ///
    /// An image that is only a little larger becomes soft when it is scaled once more. The page on performance says what the
    /// margin costs.
    package func divisor(for target: PixelSize) -> Int {
        var divisor = 8
        while divisor > 1 {
            let size = divided(by: divisor)
            if size == target || size.width * 2 >= target.width * 3 && size.height * 2 >= target.height * 3 { break }
            divisor /= 2
        }
        return divisor
    }
}
