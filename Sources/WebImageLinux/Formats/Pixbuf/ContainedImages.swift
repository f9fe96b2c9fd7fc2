import FoundationEssentials
import WebImageCore

/// The images inside of files that a loader of gdk-pixbuf decodes with further loaders, out of reach of the limits.
///
/// They are found before the loader sees the file, and their pixels together may be no more than those of one image.
final class ContainedImages {
    private let options: DecodeOptions
    private var pixelCount = 0

    private init(_ options: DecodeOptions) {
        self.options = options
    }

    /// Throws when the images inside of a file have too many pixels, or cannot be counted.
    static func check(_ data: Data, _ format: ImageFormat, options: DecodeOptions) throws(ImageError) {
        let images = ContainedImages(options)
        switch format {
        case .svg:
            try data.withByteReader { bytes throws(ImageError) in try SVGImages(options, images).find(in: bytes) }
        case .qtif: try data.withByteReader { bytes throws(ImageError) in try images.checkAtoms(bytes) }
        case .icns, .ani: try data.withByteReader { bytes throws(ImageError) in try images.checkBinary(bytes) }
        default: break
        }
    }

    /// Counts the pixels of a file.
    func add(_ image: Data, in container: String) throws(ImageError) {
        let format = ImageFormat(sniffing: image)
        guard let header = ImageHeader(reading: image) else {
            throw options.badData("The \(container) holds an image whose size cannot be read (\(format.rawValue))")
        }
        try add(header.storedSize, in: container)
    }

    /// Counts the pixels of an image.
    func add(_ size: PixelSize, in container: String) throws(ImageError) {
        try options.checkLimits(size)
        pixelCount = pixelCount.boundedSum(size.pixelCount)
        guard pixelCount <= options.pixelLimit else {
            throw ImageError(
                .imageTooLarge,
                url: options.url,
                reason: """
                    The images in the \(container) have more pixels than the limit of \
                    \(Magnitude.pixels(options.pixelLimit))
                    """,
                remedy: "Use a smaller file, or raise maximumPixelCount in the manager's configuration."
            )
        }
        try options.checkReservation(pixelCount)
    }

    // MARK: - ICNS and ANI

    /// An ICNS hands its larger entries to any loader, an ANI its frames to that of ICO, and both mean PNG.
    private func checkBinary(_ bytes: ByteReader) throws(ImageError) {
        var start = 0
        while let next = bytes.firstIndex(of: 0x89, from: start) {
            start = next + 1
            guard bytes.matches([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], at: next) else { continue }
            // The header is the first chunk, which ends the search for an orientation here.
            guard let header = bytes.data(next, 33) else { continue }
            try add(header + [0, 0, 0, 0] + Data("IDAT".utf8), in: "icon")
        }
        guard bytes.matches("icns", at: 0) else { return }
        var offset = 8
        while let length = bytes.uint32BE(offset + 4), length >= 8 {
            let isFile = bytes.matches("ic0", at: offset) || bytes.matches("ic1", at: offset)
            let isKnown = bytes.matches([0x89, 0x50, 0x4E, 0x47], at: offset + 8)
            // JPEG 2000, of which there is hardly a loader, begins with a box or a code stream.
            let isJPEG2000 =
                bytes.matches("jP  ", at: offset + 12) || bytes.matches([0xFF, 0x4F, 0xFF, 0x51], at: offset + 8)
            guard !isFile || isKnown || isJPEG2000 else {
                throw options.badData("The icon holds an image that is neither PNG nor JPEG 2000")
            }
            offset += Int(length)
        }
    }

    // MARK: - QTIF

    /// The formats of whose images in other files the headers tell all that their loaders decode.
    private static let plain: Set<ImageFormat> = [.jpeg, .png, .gif, .tiff]

    /// A QuickTime image hands the contents of its idat atom to any loader (QuickTime File Format, "QuickTime Image Files").
    private func checkAtoms(_ bytes: ByteReader) throws(ImageError) {
        var offset = 0
        while let length = bytes.uint32BE(offset) {
            guard length >= 8 else { throw options.badData("An atom of the QuickTime image has no length") }
            if bytes.matches("idat", at: offset + 4) {
                guard let image = bytes.data(offset + 8, Int(length) - 8),
                    Self.plain.contains(ImageFormat(sniffing: image))
                else {
                    throw options.badData(
                        "The QuickTime image holds something else than a whole JPEG, PNG, GIF or TIFF"
                    )
                }
                try add(image, in: "QuickTime image")
            }
            offset += Int(length)
        }
    }
}
