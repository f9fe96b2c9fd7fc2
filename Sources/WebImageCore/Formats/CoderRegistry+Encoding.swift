public import FoundationEssentials

extension CoderRegistry {
    /// Writes an image as a file.
    ///
    /// An animated image is written with all of its frames where the format has frames (GIF, PNG, WebP), else its first frame
    /// is. The pixels are upright and in sRGB; other metadata of the original file (EXIF, a profile) is not written. Only
    /// an animation that has the size of its file, in the file's own format and with default options, is the file itself,
    /// without loss and with its metadata (``ImageAnimation/fileData``). Not for the main thread.
    /// - Parameters:
    ///   - image: The image.
    ///   - format: Default: an animation keeps GIF or PNG and is a WebP otherwise; a still image is a PNG with alpha, else a JPEG.
    ///   - options: How to write it.
    /// - Throws: ``ImageError/Code/encodingFailed``, also when there is no encoder for the format.
    public func encode(
        _ image: WebImage,
        as format: ImageFormat? = nil,
        options: EncodeOptions = EncodeOptions()
    ) throws(ImageError) -> Data {
        let still: ImageFormat = image.pixels.hasAlpha ? .png : .jpeg
        let moving = [.gif, .png].contains(image.format) ? image.format : .webp
        let format = format ?? (image.animation == nil || options.isFirstFrameOnly ? still : moving)
        if options == EncodeOptions(), format == image.format, image.pixelSize == image.naturalSize,
            let file = image.animation?.fileData
        {
            return file
        }
        guard let encoder = encoder(for: format) else {
            throw .encodingFailed(
                "No encoder writes \(format.name)",
                remedy: "Choose another format; JPEG, PNG and WebP can always be written."
            )
        }
        var options = options
        options.quality = options.quality.bounded(to: 0...1, ifNaN: EncodeOptions().quality)
        let writing = Writing(encoder: encoder, format: format, options: options)
        if let animation = image.animation, !options.isFirstFrameOnly, let data = try writing.encode(animation) {
            return data
        }
        return try writing.encode(image)
    }
}

/// One call of an encoder, or several until the file is small enough.
private struct Writing {
    let encoder: any ImageEncoding
    let format: ImageFormat
    let options: EncodeOptions

    /// The lowest quality that is tried. Below it, images fall into blocks.
    private static let lowestQuality = 0.3

    /// Whether a lower quality makes a smaller file.
    private var hasQuality: Bool {
        format.descriptor?.isLossy != false && !(options.isLossless && format == .webp)
    }

    func encode(_ image: WebImage) throws(ImageError) -> Data {
        let whole = try image.pixels.scaled(to: size(of: image.pixelSize))
        var (pixels, data) = (whole, try encode(whole, quality: options.quality))
        guard let limit = options.maximumByteCount, data.count > limit else { return data }
        let lowest = min(Self.lowestQuality, options.quality)
        if hasQuality { data = try encode(pixels, quality: lowest) }
        // Even the lowest quality is too large, so the image gets fewer pixels, and then a better quality again.
        while data.count > limit {
            guard pixels.size.pixelCount > 1 else {
                throw .encodingFailed(
                    "No image fits into \(Magnitude.bytes(limit))",
                    remedy: "Raise EncodeOptions.maximumByteCount."
                )
            }
            let size = smaller(pixels.size, byteCount: data.count, limit: limit, factor: 0.95)
            pixels = try whole.scaled(to: size)
            data = try encode(pixels, quality: lowest)
        }
        return hasQuality ? try bestQuality(pixels, from: lowest, data, limit: limit) : data
    }

    /// - Returns: `nil` when the format has no frames.
    func encode(_ animation: ImageAnimation) throws(ImageError) -> Data? {
        var animation = animation
        let size = size(of: animation.size)
        if size != animation.size { animation = animation.resized(to: size) }
        var options = options
        var data = try encoder.encode(animation, as: format, options: options)
        while let limit = options.maximumByteCount, let count = data?.count, count > limit {
            if hasQuality, options.quality > Self.lowestQuality {
                options.quality = max(Self.lowestQuality, options.quality - 0.2)
            } else {
                let size = smaller(animation.size, byteCount: count, limit: limit, factor: 0.8)
                guard size != animation.size else {
                    throw .encodingFailed(
                        "No animation fits into \(Magnitude.bytes(limit))",
                        remedy: "Raise EncodeOptions.maximumByteCount, or encode fewer frames."
                    )
                }
                animation = animation.resized(to: size)
            }
            data = try encoder.encode(animation, as: format, options: options)
        }
        return data
    }

    private func size(of natural: PixelSize) -> PixelSize {
        options.maximumSize.map { DecodeSize.contain($0).target(for: natural) } ?? natural
    }

    /// - Parameter factor: The least by which both sides shrink.
    private func smaller(_ size: PixelSize, byteCount: Int, limit: Int, factor: Double) -> PixelSize {
        let factor = min(factor, (Double(max(limit, 0)) / Double(byteCount)).squareRoot())
        return PixelSize(
            width: max(1, Int(Double(size.width) * factor)),
            height: max(1, Int(Double(size.height) * factor))
        )
    }

    private func encode(_ pixels: PixelBuffer, quality: Double) throws(ImageError) -> Data {
        var options = options
        options.quality = quality
        return try encoder.encode(pixels, as: format, options: options)
    }

    /// The file of the best quality that keeps the limit.
    /// - Parameter found: The file of the lowest quality, which keeps it.
    private func bestQuality(
        _ pixels: PixelBuffer,
        from lowest: Double,
        _ found: Data,
        limit: Int
    ) throws(ImageError) -> Data {
        var (low, high, found) = (lowest, options.quality, found)
        for _ in 0..<6 {
            let middle = (low + high) / 2
            let data = try encode(pixels, quality: middle)
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

extension ImageAnimation {
    fileprivate func resized(to size: PixelSize) -> ImageAnimation {
        mapFrames(size: size) { pixels throws(ImageError) in try pixels.scaled(to: size) }
    }
}

extension PixelBuffer {
    fileprivate func scaled(to size: PixelSize) throws(ImageError) -> PixelBuffer {
        guard let scaled = resized(to: size, orientation: .up) else {
            throw .noMemory(toEncode: "an image of \(size) pixels")
        }
        return scaled
    }
}
