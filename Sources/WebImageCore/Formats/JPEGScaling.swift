// Part of the core, because the memory of a decode is estimated before a decoder is called.
extension PixelSize {
    /// The size of an image after the inverse DCT has divided it.
    package func divided(by divisor: Int) -> PixelSize {
        PixelSize(width: (width + divisor - 1) / divisor, height: (height + divisor - 1) / divisor)
    }

    /// The largest divisor of the inverse DCT, among those with vector code in libjpeg-turbo, that makes an image as large as the
    /// target, or at least one and a half times as large.
    ///
    /// Scaling an image that is only slightly larger would make it soft. The page Measurements has the cost of the margin.
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
