package import FoundationEssentials
package import WebImageCore

/// Decodes GIF, still or animated, frame by frame.
package struct GIFCoder: ExtendedDecoding {
    package init() {}

    package func canDecode(_ format: ImageFormat) -> Bool { format == .gif }

    package func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try decode(data, first: nil, options)
    }

    /// - Parameters:
    ///   - first: The color indices of the first frame, if all are unpacked.
    ///   - isArriving: Whether the file is still arriving, so that only available frames are shown.
    ///   - arrival: The state shared by all images of an arriving file.
    func decode(
        _ data: Data,
        first: GIFFirstFrame?,
        isArriving: Bool = false,
        arrival: ArrivingAnimation? = nil,
        _ options: DecodeOptions
    ) throws(ImageError) -> WebImage {
        guard let file = GIFFile(data, frameLimit: options.frameLimit) else {
            throw options.badData("The GIF ends before its pixels begin")
        }
        try options.check(file.size)
        let target = options.size.target(for: file.size)
        if file.isBare, !isArriving,
            let pixels = FrameCanvas(size: target)?.takePixels(hasAlpha: true)
        {
            return WebImage(pixels: pixels, naturalSize: file.size, format: .gif, .up, options)
        }
        guard let frame = file.frames.first else { throw options.badData("There is no image in the GIF") }
        let frames = GIFFrameSource(data, file, first: first, options)
        guard frame.isComplete || frames.isFirstWhole else {
            throw options.badData("The GIF ends in the middle of an image: it is truncated")
        }
        guard !file.isTruncated || isArriving else { throw options.truncatedAnimation }
        return try WebImage(
            animated: frames,
            layouts: frames.layouts,
            size: file.size,
            loopCount: file.loopCount,
            format: .gif,
            data: data,
            isArriving: isArriving,
            arrival: arrival,
            options: options
        )
    }

    package func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        GIFIncrementalDecoder(options)
    }
}
