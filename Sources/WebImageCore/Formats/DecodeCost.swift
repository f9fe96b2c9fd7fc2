package import FoundationEssentials

/// The memory that decoding a file takes, estimated from its header.
package struct DecodeCost {
    /// The memory for files whose headers the library does not read, such as those of SVG, of which the image takes what fits
    /// in the size that is asked for. Pixels are counted three times: as the loader decodes them, as it hands them out, and as
    /// the image has them.
    /// - Parameter pixelCount: The number of pixels: a guess, until the decoder has said that there are more.
    static func unknown(_ options: DecodeOptions, pixelCount: Int = 1 << 22) -> DecodeCost {
        let guess = pixelCount.boundedProduct(12)
        let imageByteCount =
            switch options.size {
            case .original: guess
            case .contain(let size), .stretch(let size): size.pixelCount.boundedProduct(4)
            // One side may be longer.
            case .cover(let size): size.pixelCount.boundedProduct(8)
            case .within(let byteCount): byteCount
            }
        return DecodeCost(byteCount: guess, imageByteCount: min(imageByteCount, guess), pixelCount: pixelCount)
    }

    /// The bytes until the pixels are there.
    package let byteCount: Int
    /// The bytes of the pixels at the size that is asked for.
    let imageByteCount: Int
    /// The number of pixels that fit into this memory.
    let pixelCount: Int

    private init(byteCount: Int, imageByteCount: Int, pixelCount: Int) {
        self.byteCount = byteCount
        self.imageByteCount = imageByteCount
        self.pixelCount = pixelCount
    }

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
        // The worst case stands for what has not arrived: coefficients of two bytes for each of four channels.
        let working = header.workingByteCount ?? pixels.boundedProduct(8)
        // What is scaled is turned afterwards, while the decoded pixels are still there.
        let isTurned = header.turn != .up
        let scaled = target < decoded ? imageByteCount.boundedProduct(isTurned ? 2 : 1) : 0
        switch header.format {
        case .gif:
            // The first frame is decoded into indices of colors, which are gone when the canvas is scaled.
            bytes = bytes.boundedSum(max(scaled, pixels))
        case .png, .ico:
            // So are the copies of compressed pixels, and the frame beside a canvas.
            bytes = bytes.boundedSum(max(scaled, working))
        default:
            bytes = bytes.boundedSum(working).boundedSum(scaled)
        }
        // What is turned is copied once the decoder is done.
        if isTurned { bytes = max(bytes, imageByteCount.boundedProduct(2)) }
        byteCount = bytes
    }

    /// The bytes that are taken once the pixels are there, until they are in the caches.
    /// - Parameter isChanged: Whether a transformer makes another image of them, or an encoder a rendition.
    func finalByteCount(isChanged: Bool) -> Int {
        // What is read, what is written, and what a step such as a blur needs for itself.
        isChanged ? imageByteCount.boundedProduct(3) : imageByteCount
    }
}

extension MemoryBudget {
    /// The memory of decoding a file.
    /// - Parameter pixelCount: How many pixels the decoder has found when it was called before.
    /// - Throws: ``ImageError/Code/imageTooLarge`` when it is more than decodes may ever take.
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

/// A decoder of an arriving file that takes its memory from a budget once the header has arrived. Without room there are no
/// partial images: the whole file is decoded in the end.
///
/// @unchecked: one thread at a time uses a decoder, which ``ProgressiveDecoding`` sees to.
final class BudgetedIncrementalDecoder: IncrementalImageDecoding, @unchecked Sendable {
    /// Headers that are longer have a profile or a preview in front. Such files show no parts.
    private static let longestHead = 1 << 20

    private let decoder: any IncrementalImageDecoding
    private let options: DecodeOptions
    private let budget: MemoryBudget
    private let hasHeader: Bool
    private var reservation: MemoryBudget.Reservation?
    private var head = Data()

    /// - Parameter hasHeader: Whether the library reads the header of the format.
    init(
        _ decoder: any IncrementalImageDecoding,
        hasHeader: Bool,
        options: DecodeOptions,
        budget: MemoryBudget
    ) {
        self.decoder = decoder
        self.hasHeader = hasHeader
        self.options = options
        self.budget = budget
    }

    func append(_ data: Data) throws(ImageError) {
        guard reservation == nil else { return try decoder.append(data) }
        head.append(data)
        let header = ImageHeader(reading: head, hint: options.formatHint)
        if let header { try options.check(header.size) }
        guard !hasHeader || header?.workingByteCount != nil else {
            guard head.count > Self.longestHead else { return }
            throw ImageError(
                .imageTooLarge,
                url: options.url,
                reason: "The size of this image comes so late in its file that there is no memory for parts of it",
                remedy: "Nothing: the image shows once it is complete. Files with shorter metadata show parts."
            )
        }
        reservation = budget.keep((header.map { DecodeCost(of: $0, options) } ?? .unknown(options)).byteCount)
        guard reservation != nil else {
            throw ImageError(
                .imageTooLarge,
                url: options.url,
                reason: "The images that arrive at the moment leave no memory for parts of this one",
                remedy: "Nothing: the image shows once it is complete."
            ).dependingOnRequest()
        }
        let pending = head
        head = Data()
        try decoder.append(pending)
    }

    func partialImage() -> WebImage? { decoder.partialImage() }

    func finish(_ data: Data) throws(ImageError) -> WebImage {
        if reservation == nil { try decoder.append(head) }
        return try decoder.finish(data)
    }
}
