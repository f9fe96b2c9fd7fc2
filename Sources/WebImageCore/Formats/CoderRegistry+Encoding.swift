public import FoundationEssentials

extension CoderRegistry {
    /// Writes an image as a file; an animated one with all of its frames where the format has frames (WebP), else its
    /// first. Takes its time: not for the main thread.
    ///
    /// The pixels are upright and in sRGB; what else the original file said (EXIF, a profile) is not written.
    /// - Parameters:
    ///   - image: What to write.
    ///   - format: Default: PNG for an image with alpha, else JPEG.
    ///   - options: See EncodeOptions.
    /// - Throws: ImageError/Code/encodingFailed, also when nothing on this machine writes the format.
    public func encode(
        _ image: WebImage,
        as format: ImageFormat? = nil,
        options: EncodeOptions = EncodeOptions()
    ) throws(ImageError) -> Data {
        let format = format ?? (image.pixels.hasAlpha ? .png : .jpeg)
        guard let encoder = encoder(for: format) else {
            throw .encodingFailed("Nothing on this machine writes \(format.rawValue.uppercased())")
        }
        let quality = min(max(options.quality, 0), 1)
        if let animation = image.animation, !options.isFirstFrameOnly,
            let data = try encodeFrames(of: animation, encoder, format, quality, options)
        {
            return data
        }
        let size = options.maximumSize.map { DecodeSize.contain($0).target(for: image.pixelSize) } ?? image.pixelSize
        var pixels = try image.pixels.scaled(to: size)
        var data = try encoder.encode(pixels, as: format, quality: quality, options: options)
        guard let limit = options.maximumByteCount, data.count > limit else { return data }
        if let smaller = try best(encoder, pixels, format, quality, options, limit) { return smaller }
        // Not with the lowest quality, or there is none: then with fewer pixels.
        while data.count > limit {
            let factor = min(0.8, (Double(limit) / Double(data.count)).squareRoot())
            guard pixels.size.pixelCount > 1 else {
                throw .encodingFailed("No image fits into \(limit) bytes")
            }
            let next = PixelSize(
                width: max(1, Int(Double(pixels.size.width) * factor)),
                height: max(1, Int(Double(pixels.size.height) * factor))
            )
            pixels = try pixels.scaled(to: next)
            data = try encoder.encode(pixels, as: format, quality: Self.lowestQuality, options: options)
        }
        return data
    }

    /// - Returns: nil when the format has no frames.
    private func encodeFrames(
        of animation: ImageAnimation,
        _ encoder: any ImageEncoding,
        _ format: ImageFormat,
        _ quality: Double,
        _ options: EncodeOptions
    ) throws(ImageError) -> Data? {
        var animation = animation
        if let size = options.maximumSize.map({ DecodeSize.contain($0).target(for: animation.size) }) {
            animation = animation.mapFrames(size: size) { $0.picture(at: size, .up) }
        }
        var quality = quality
        var data = try encoder.encode(animation, as: format, quality: quality, options: options)
        while let limit = options.maximumByteCount, let count = data?.count, count > limit {
            if quality > Self.lowestQuality {
                quality = max(Self.lowestQuality, quality - 0.2)
            } else {
                let factor = min(0.8, (Double(limit) / Double(count)).squareRoot())
                let size = PixelSize(
                    width: max(1, Int(Double(animation.size.width) * factor)),
                    height: max(1, Int(Double(animation.size.height) * factor))
                )
                guard size != animation.size else { throw .encodingFailed("No animation fits into \(limit) bytes") }
                animation = animation.mapFrames(size: size) { $0.picture(at: size, .up) }
            }
            data = try encoder.encode(animation, as: format, quality: quality, options: options)
        }
        return data
    }

    /// Below it, images fall into blocks.
    private static let lowestQuality = 0.3

    /// The best quality that keeps within limit; nil when none does.
    private func best(
        _ encoder: any ImageEncoding,
        _ pixels: PixelBuffer,
        _ format: ImageFormat,
        _ quality: Double,
        _ options: EncodeOptions,
        _ limit: Int
    ) throws(ImageError) -> Data? {
        var (low, high) = (min(Self.lowestQuality, quality), quality)
        var found = try encoder.encode(pixels, as: format, quality: low, options: options)
        guard found.count <= limit else { return nil }
        for _ in 0..<6 {
            let middle = (low + high) / 2
            let data = try encoder.encode(pixels, as: format, quality: middle, options: options)
            if data.count <= limit {
                found = data
                low = middle
            } else {
                high = middle
            }
        }
        return found
    }
}

extension PixelBuffer {
    fileprivate func scaled(to size: PixelSize) throws(ImageError) -> PixelBuffer {
        guard let scaled = picture(at: size, .up) else {
            throw .encodingFailed("There is no memory for \(size) pixels")
        }
        return scaled
    }
}

extension ImageError {
    package static func encodingFailed(_ reason: String) -> ImageError {
        ImageError(
            .encodingFailed,
            url: nil,
            reason: reason,
            remedy: "Choose another format or a smaller size; JPEG, PNG and WebP can always be written."
        )
    }
}
