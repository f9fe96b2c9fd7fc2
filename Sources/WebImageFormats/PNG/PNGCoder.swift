package import FoundationEssentials
package import WebImageCore

/// Decodes PNG with libpng, still or animated (APNG).
package struct PNGCoder: ExtendedDecoding {
    package init() {}

    package func canDecode(_ format: ImageFormat) -> Bool { format == .png }

    package func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try decode(data, isArriving: false, options)
    }

    /// - Parameters:
    ///   - isArriving: Whether the file is still arriving, so that only complete frames are shown.
    ///   - arrival: The state shared by all images of an arriving file.
    func decode(
        _ data: Data,
        isArriving: Bool,
        arrival: ArrivingAnimation? = nil,
        _ options: DecodeOptions
    ) throws(ImageError) -> WebImage {
        let header = ImageHeader(reading: data)
        if let header { try options.check(header.size) }
        let orientation = header?.orientation ?? .up
        let file = PNGFile(data, frameLimit: options.frameLimit, isArriving: isArriving)
        let isAnimated = file.frames.count > 1 || file.frames.count == 1 && !file.showsDefaultImage
        var reader = try PNGReader(keepsDepth: options.keepsWideColors && !isAnimated, options)
        let size = try reader.readHeader(of: data)
        try options.check(size)
        guard !file.isTruncated || !file.isAnimated || isArriving || options.isFirstFrameOnly else {
            throw options.truncatedAnimation
        }
        let profile = reader.profile(data)
        if isAnimated {
            do {
                return try WebImage(
                    animated: PNGFrameSource(data: data, file: file, options: options),
                    layouts: file.frames.map(\.layout),
                    size: file.size,
                    orientation: orientation,
                    loopCount: file.loopCount,
                    format: .png,
                    data: data,
                    isArriving: isArriving,
                    arrival: arrival,
                    options: options
                ).converted(from: profile, options)
            } catch {
                // The default image may be intact.
                WebImageLog.debug("The PNG is shown as a still image: \(error)")
            }
        }
        let turn = options.turn(orientation)
        let natural = turn.apply(to: size)
        let target = turn.apply(to: options.size.target(for: natural))
        let pixels = try reader.pixels(of: data).resized(to: target, orientation: turn, options)
        return WebImage(pixels: pixels, naturalSize: natural, format: .png, orientation, options)
            .converted(from: profile, options)
    }

    package func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        PNGRowDecoder(options).map { PNGIncrementalDecoder($0, options) }
    }
}
