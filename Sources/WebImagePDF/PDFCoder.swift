public import FoundationEssentials
public import WebImageCore
import WebImageFormats
import WebImageLinux

/// Draws a page of a PDF with poppler-glib, if installed, on white and at the requested size.
///
///     configuration.decoders.append(PDFCoder())
///
/// The page is the first, or the number in the parameter `page`, counted from 1. One point (1/72 inch) is 4/3 pixels, as in CSS and
/// SVG. Like every added decoder, this one runs in the process of the app. A drawing cannot be stopped, so it runs on a separate
/// thread, which is abandoned after 10 seconds.
public struct PDFCoder: ImageDecoding {
    private static let pageParameter = "page"

    private let timeLimit: Duration
    private let poppler: @Sendable () -> PopplerLibrary?

    /// Makes a decoder. The first PDF that is decoded loads poppler-glib.
    public init() {
        self.init(timeLimit: .seconds(10))
    }

    /// Counts abandoned calls; `nil` for the count of the process. Tests use separate counts.
    var leftBehind: LoaderWait.CallsLeftBehind?

    /// - Parameter poppler: Returns the functions that draw; `nil` if they are not installed.
    init(timeLimit: Duration, poppler: @escaping @Sendable () -> PopplerLibrary? = { .installed }) {
        self.timeLimit = timeLimit
        self.poppler = poppler
    }

    /// Whether the format is PDF and poppler-glib is installed.
    public func canDecode(_ format: ImageFormat) -> Bool { format == .pdf && poppler() != nil }

    /// Draws a page at the size of the options.
    public func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try decode(data, options: options, holding: nil) { false }
    }
}

extension PDFCoder: ExtendedDecoding {
    package func isSlow(_ format: ImageFormat) -> Bool { true }

    package func decode(
        _ data: Data,
        options: DecodeOptions,
        holding reservation: MemoryBudget.Reservation?,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage {
        guard let poppler = poppler() else { throw options.badData("poppler-glib is not installed") }
        let number = try Self.pageNumber(options)
        var wait = LoaderWait(
            format: .pdf,
            isElsewhere: false,
            limit: timeLimit,
            options: options,
            leftBehind: leftBehind
        )
        wait.library = "poppler"
        // A cancelled drawing would not end, so cancelling does not end the wait.
        return try wait.run(holding: reservation, until: { false }) { () throws(ImageError) in
            try data.withByteReader { bytes throws(ImageError) in
                let document = try PDFDocument(bytes, poppler: poppler, options)
                return try document.image(ofPage: number)
            }
        }
    }

    private static func pageNumber(_ options: DecodeOptions) throws(ImageError) -> Int {
        guard let text = options.decoderParameters[pageParameter] else { return 1 }
        guard let number = Int(text), number > 0 else {
            throw options.badData("The parameter page is \(text), not a number from 1 on")
        }
        return number
    }
}
