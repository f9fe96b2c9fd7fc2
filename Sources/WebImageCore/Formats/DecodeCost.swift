package import FoundationEssentials

/// The memory needed to decode a file, estimated from its header.
package struct DecodeCost {
    /// The cost of a file whose header the library does not read, such as SVG. Pixels are counted three times: in the loader, in
    /// its output and in the image.
    /// - Parameter pixelCount: A guess, until the decoder has reported more pixels.
    static func unknown(_ options: DecodeOptions, pixelCount: Int = 1 << 22) -> DecodeCost {
        let guess = pixelCount.boundedProduct(12)
        let imageByteCount =
            switch options.size {
            case .original: guess
            case .contain(let size), .stretch(let size): size.pixelCount.boundedProduct(4)
            // One side may be longer than the box.
            case .cover(let size): size.pixelCount.boundedProduct(8)
            case .within(let byteCount): byteCount
            }
        return DecodeCost(byteCount: guess, imageByteCount: min(imageByteCount, guess), pixelCount: pixelCount)
    }

    /// The peak memory in bytes until the pixels are decoded.
    package let byteCount: Int
    /// The bytes of the pixels at the requested size.
    let imageByteCount: Int
    /// The number of pixels that this cost covers.
    let pixelCount: Int
}

extension DecodeCost {
    init(of header: ImageHeader, _ options: DecodeOptions) {
        let header = header.turned(by: options)
        let pixels = header.storedSize.pixelCount
        pixelCount = pixels
        let target = options.size.target(for: header.size).pixelCount
        var decoded = pixels
        if header.format == .jpeg {
            let stored = header.turn.apply(to: options.size.target(for: header.size))
            decoded = header.storedSize.divided(by: header.storedSize.divisor(for: stored)).pixelCount
        }
        let bytesPerPixel = options.keepsWideColors ? 8 : 4
        imageByteCount = target.boundedProduct(bytesPerPixel)
        var bytes = decoded.boundedProduct(bytesPerPixel)
        // Until the header has arrived, assume the worst case: coefficients of two bytes for each of four channels.
        let working = header.workingByteCount ?? pixels.boundedProduct(8)
        // Scaled pixels are turned while the decoded pixels are still in memory.
        let isTurned = header.turn != .up
        let scaled = target < decoded ? imageByteCount.boundedProduct(isTurned ? 2 : 1) : 0
        switch header.format {
        case .gif:
            // The first frame is decoded into color indices, which are released before the canvas is scaled.
            bytes = bytes.boundedSum(max(scaled, pixels))
        case .png, .ico:
            // Copies of compressed pixels, and the frame of an animation, are released before scaling.
            bytes = bytes.boundedSum(max(scaled, working))
        default:
            bytes = bytes.boundedSum(working).boundedSum(scaled)
        }
        // Turning copies the pixels after the decoder has released its memory.
        if isTurned { bytes = max(bytes, imageByteCount.boundedProduct(2)) }
        byteCount = bytes
    }

    /// The bytes in use from the end of decoding until the image is in the caches.
    /// - Parameter isChanged: Whether a transformer changes the pixels, or an encoder makes a rendition.
    func finalByteCount(isChanged: Bool) -> Int {
        // The input, the output, and the working memory of a step such as a blur.
        isChanged ? imageByteCount.boundedProduct(3) : imageByteCount
    }
}

extension MemoryBudget {
    /// The cost of decoding a file.
    /// - Parameter pixelCount: The number of pixels that an earlier attempt of the decoder found.
    /// - Throws: ``ImageError/Code/imageTooLarge`` if the cost exceeds the limit of all decodes.
    package func cost(
        ofDecoding data: Data,
        as format: ImageFormat,
        pixelCount: Int? = nil,
        _ options: DecodeOptions
    ) throws(ImageError) -> DecodeCost {
        let cost: DecodeCost
        if let pixelCount {
            cost = .unknown(options, pixelCount: pixelCount)
        } else {
            guard let header = ImageHeader(reading: data, as: format) else { return .unknown(options) }
            try options.check(header.size)
            cost = DecodeCost(of: header, options)
        }
        guard cost.byteCount <= decodingLimit else {
            let (count, limit) = Magnitude.bytes(cost.byteCount, exceeding: decodingLimit)
            throw ImageError(
                .imageTooLarge,
                url: options.url,
                reason: """
                    Decoding takes \(count), more than the \(limit) that all decodes may take on this machine or in this \
                    control group
                    """,
                remedy: """
                    Use a smaller file, or a JPEG that is not progressive, which takes the least. More memory for the \
                    process raises the limit, up to \(Magnitude.bytes(MemoryBudget.largestDecodingLimit)).
                    """
            ).dependingOnRequest()
        }
        return cost
    }
}
