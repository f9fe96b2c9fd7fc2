extension WebImage {
    /// The deviation of the blur, as a share of the longer side, before any bytes have arrived.
    private static let blurShare = 0.04
    /// A deviation in pixels below which blurring is not worth its time.
    private static let invisibleDeviation = 2.0

    /// A partial image with a blur that hides how coarse it is.
    ///
    /// The image is blurred with fewer pixels, which takes a fraction of the time. GTK enlarges it when drawing.
    /// - Parameters:
    ///   - share: How much of the file has arrived, from 0 to 1.
    ///   - keepsSize: Whether the result has the same number of pixels, because a transformer counts them.
    /// - Returns: The same image if the blur would be invisible or there is no memory for it.
    package func blurred(arrived share: Double, keepsSize: Bool) -> WebImage {
        let missing = 1 - share.bounded(to: 0...1, ifNaN: 0)
        let deviation = Double(max(pixelSize.width, pixelSize.height)) * Self.blurShare * missing * missing
        guard animation == nil, deviation >= Self.invisibleDeviation else { return self }
        // A blur of two pixels still looks smooth after enlarging.
        let factor = max(2, (deviation / 2).rounded(.down))
        func divided(_ side: Int) -> Int { max(1, Int(bounded: (Double(side) / factor).rounded())) }
        let size = PixelSize(width: divided(pixelSize.width), height: divided(pixelSize.height))
        guard let small = content.pixels.resized(to: size, orientation: .up)?.standard(),
            let smooth = BlurStep(radius: deviation / factor).apply(to: small, scale: 1),
            let pixels = keepsSize ? smooth.resized(to: pixelSize, orientation: .up) : smooth
        else { return self }
        return with { $0.pixels = pixels }
    }
}
