package import FoundationEssentials
package import WebImageCore

/// Decodes JPEG with libjpeg.
///
/// libjpeg scales with the inverse DCT to a size somewhat larger than requested, which takes a quarter of the work for a quarter of
/// the size. An area scaler does the rest.
package struct JPEGCoder: ExtendedDecoding {
    package init() {}

    package func canDecode(_ format: ImageFormat) -> Bool { format == .jpeg }

    package func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try data.withByteReader { reader throws(ImageError) in
            let known = JPEGHeader.read(reader)
            if let known { try options.check(known.size) }
            return try decode(reader.bytes, known?.orientation ?? .up, options)
        }
    }

    package func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        JPEGIncrementalDecoder(options)
    }

    private func decode(
        _ bytes: UnsafeRawBufferPointer,
        _ orientation: ImageOrientation,
        _ options: DecodeOptions
    ) throws(ImageError) -> WebImage {
        guard var reader = JPEGReader(options) else { throw options.badData("There is no memory for the JPEG") }
        reader.setFile(bytes)
        guard let stored = try reader.readHeader() else { throw options.truncatedJPEG() }
        try options.check(stored)
        // libjpeg frees the profile at the end of the file.
        let profile = reader.profile
        let turn = options.turn(orientation)
        let natural = turn.apply(to: stored)
        let target = turn.apply(to: options.size.target(for: natural))
        let size = try reader.setUp(divisor: stored.divisor(for: target))
        let decoded = try PixelBuffer(size: size, format: .rgb) { memory throws(ImageError) in
            let start = memory.bindMemory(to: UInt8.self).baseAddress!
            guard try reader.decode(into: start, width: size.width).isDone else { throw options.truncatedJPEG() }
        }
        guard let decoded else { throw options.outOfMemory(size) }
        let pixels = try decoded.resized(to: target, orientation: turn, options)
        return WebImage(pixels: pixels, naturalSize: natural, format: .jpeg, orientation, options)
            .converted(from: profile, options)
    }
}
