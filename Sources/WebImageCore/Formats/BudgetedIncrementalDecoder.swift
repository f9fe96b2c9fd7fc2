import FoundationEssentials

/// A decoder of an arriving file that reserves its memory once the header has arrived. Without free memory it shows no partial
/// images, and the whole file is decoded later.
///
/// `@unchecked`: ``ProgressiveDecoding`` lets one thread at a time use a decoder.
final class BudgetedIncrementalDecoder: IncrementalImageDecoding, @unchecked Sendable {
    /// A longer header contains a profile or a preview. Such files show no partial images.
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
