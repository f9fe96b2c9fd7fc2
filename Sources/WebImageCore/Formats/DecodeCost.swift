import FoundationEssentials

/// The memory that decoding a file takes, estimated from its header.
struct DecodeCost {
    /// For formats whose headers the library does not read, such as AVIF and SVG: about 12 megapixels.
    static let unknown = DecodeCost(byteCount: 48 << 20)

    let byteCount: Int

    private init(byteCount: Int) {
        self.byteCount = byteCount
    }

    init(of header: ImageHeader, _ options: DecodeOptions) {
        let pixels = header.storedSize.pixelCount
        let target = options.size.target(for: header.size).pixelCount
        var decoded = pixels
        if header.format == .jpeg {
            // The inverse DCT divides both sides by up to 8, and leaves at least the target.
            let factors = [64, 16, 4, 1]
            decoded = factors.lazy.map { pixels / $0 }.first { $0 >= target } ?? pixels
        }
        let bytesPerPixel = options.keepsWideColors ? 8 : 4
        var bytes = decoded.boundedProduct(bytesPerPixel)
        // Two bytes for each of three channels.
        if header.keepsCoefficients { bytes = bytes.boundedSum(pixels.boundedProduct(6)) }
        if target < decoded { bytes = bytes.boundedSum(target.boundedProduct(bytesPerPixel)) }
        byteCount = bytes
    }
}

extension MemoryBudget {
    /// Takes the memory of a decode, and waits on this thread until there is some.
    /// - Throws: ``ImageError/Code/imageTooLarge`` when it is more than decodes may ever take, and
    ///   ``ImageError/Code/cancelled``.
    func memory(
        forDecoding data: Data,
        as format: ImageFormat,
        _ options: DecodeOptions,
        until isCancelled: () -> Bool
    ) throws(ImageError) -> Reservation {
        var cost = min(DecodeCost.unknown.byteCount, decodingLimit)
        if let header = ImageHeader(reading: data, as: format) {
            try options.check(header.size)
            cost = DecodeCost(of: header, options).byteCount
        }
        guard cost <= decodingLimit else {
            throw ImageError(
                .imageTooLarge,
                url: options.url,
                reason: """
                    Decoding takes \(cost >> 20) MB, more than the \(decodingLimit >> 20) MB that all decodes may take on this \
                    machine or in this control group
                    """,
                remedy:
                    "Give the process more memory, or use a smaller file; a JPEG that is not progressive takes the least."
            ).dependingOnRequest()
        }
        guard let reservation = waitForDecoding(cost, until: isCancelled) else { throw .cancelled(options.url) }
        return reservation
    }
}

/// A decoder of an arriving file that takes its memory from a budget once the header has arrived. Without room there are no
/// partial images: the whole file is decoded in the end.
///
/// @unchecked: one thread at a time uses a decoder.
final class BudgetedIncrementalDecoder: IncrementalImageDecoding, @unchecked Sendable {
    /// Headers that are longer have a profile or a preview in front, and are decoded without an estimate.
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
        guard header != nil || !hasHeader || head.count > Self.longestHead else { return }
        let cost = header.map { DecodeCost(of: $0, options) } ?? .unknown
        if let header { try options.check(header.size) }
        reservation = budget.keep(cost.byteCount)
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
