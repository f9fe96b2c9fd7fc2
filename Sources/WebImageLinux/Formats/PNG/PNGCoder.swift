package import FoundationEssentials
package import WebImageCore

/// Decodes PNG with libpng, still and animated (APNG). What is still arriving is gdk-pixbuf's, but for frames.
package struct PNGCoder: ImageDecoding {
    private let other: PixbufCoder

    /// - Parameter other: Decodes what is still arriving.
    package init(other: PixbufCoder = PixbufCoder()) {
        self.other = other
    }

    package func canDecode(_ format: ImageFormat) -> Bool { format == .png }

    package func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try decode(data, isArriving: false, options)
    }

    /// - Parameter isArriving: Whether more is to come: only frames that are whole are shown, and nothing else.
    func decode(_ data: Data, isArriving: Bool, _ options: DecodeOptions) throws(ImageError) -> WebImage {
        let header = ImageHeader(reading: data)
        if let header { try options.check(header.size) }
        let orientation = header?.orientation ?? .up
        let file = PNGFile(data, frameLimit: options.frameLimit, isArriving: isArriving)
        return try PNGReader.read(data, options) { reader throws(ImageError) in
            try options.check(reader.size)
            let profile = options.convertsToSRGB ? reader.profile : nil
            if file.frames.count > 1 || options.isFirstFrameOnly && file.frames.count == 1 {
                do {
                    return try animated(data, file, orientation, options).image(options).converted(from: profile)
                } catch {
                    // The image for those who know no frames may be sound.
                    WebImageLog.debug("The PNG is shown as a still image: \(error)")
                }
            }
            let natural = orientation.apply(to: reader.size)
            let target = orientation.apply(to: options.size.target(for: natural))
            guard let pixels = try reader.pixels().resized(to: target, orientation: orientation) else {
                throw options.outOfMemory(target)
            }
            return WebImage(pixels: pixels, naturalSize: natural, format: .png, orientation, options)
                .converted(from: profile)
        }
    }

    package func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        other.makeIncrementalDecoder(for: format, options: options).map { PNGIncrementalDecoder($0, self, options) }
    }

    private func animated(
        _ data: Data,
        _ file: PNGFile,
        _ orientation: ImageOrientation,
        _ options: DecodeOptions
    ) -> AnimatedFile {
        AnimatedFile(
            PNGFrameSource(data, file, options),
            file.frames.map(\.layout),
            size: file.size,
            orientation: orientation,
            loopCount: file.loopCount,
            format: .png,
            byteCount: data.count
        )
    }
}
