public import FoundationEssentials
public import WebImageCore
import WebImageFormats
import WebImageLinux

/// Draws a page of a PDF with poppler-glib where that is installed, on white and at the size asked for.
///
///     configuration.decoders.append(PDFCoder())
///
/// The page is the first one, or that of the parameter `page`, counted from 1. A page of 72 points to the inch has 96 pixels to the
/// inch, as in CSS and SVG. It is drawn in the process of the app, as by every decoder that an app adds. Nothing ends a drawing once
/// it has begun, so it has a thread to itself, which is left behind after 10 seconds.
public struct PDFCoder: ImageDecoding {
    private static let pageParameter = "page"

    private let timeLimit: Duration
    private let poppler: @Sendable () -> PopplerLibrary?

    /// Makes a decoder. poppler-glib is looked for when the first PDF is decoded.
    public init() {
        self.init(timeLimit: .seconds(10))
    }

    /// Counts the calls that are left behind; `nil` for the count of the process. Tests have their own.
    var leftBehind: LoaderWait.CallsLeftBehind?

    /// - Parameter poppler: Returns the functions that draw; `nil` when they are not installed.
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
        // Giving up a drawing does not end it.
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
