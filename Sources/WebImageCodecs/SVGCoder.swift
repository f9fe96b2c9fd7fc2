internal import CWebImageCodecShims
package import FoundationEssentials
package import WebImageCore
import WebImageFormats

/// Draws SVG with librsvg at the requested size. A drawing reads neither files nor the network.
///
/// A drawing cannot be stopped. In the process of the app, it runs on a separate thread, which is abandoned after 10 seconds.
package struct SVGCoder: ExtendedDecoding {
    private static let timeLimit = Duration.seconds(10)
    /// The longest side that cairo can draw.
    private static let longestSide = 32_767

    private static let isInstalled = gwi_library_is_installed("librsvg-2.so.2")

    private let isAvailable: @Sendable () -> Bool

    /// A decoder that loads librsvg with its first image, if installed.
    package init() { isAvailable = { Self.isInstalled } }

    /// A decoder for which librsvg is loaded now.
    package static func loaded() -> SVGCoder { SVGCoder(isLoaded: gwi_svg_load()) }

    private init(isLoaded: Bool) { isAvailable = { isLoaded } }

    package func canDecode(_ format: ImageFormat) -> Bool { format == .svg && isAvailable() }

    package func isSlow(_ format: ImageFormat) -> Bool { true }

    package func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try decode(data, options: options, holding: nil) { false }
    }

    package func decode(
        _ data: Data,
        options: DecodeOptions,
        holding reservation: MemoryBudget.Reservation?,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage {
        guard gwi_svg_load() else {
            return try PixbufCoder().decode(data, options: options, holding: reservation, isCancelled: isCancelled)
        }
        try options.checkDrawing(data)
        var wait = LoaderWait(format: .svg, isElsewhere: false, limit: Self.timeLimit, options: options)
        wait.library = "librsvg"
        // A cancelled drawing would not end, so cancelling does not end the wait.
        return try wait.run(holding: reservation, until: { false }) { () throws(ImageError) in
            try data.withByteReader { bytes throws(ImageError) in
                guard let drawing = gwi_svg_new(bytes.bytes.baseAddress, bytes.count) else {
                    throw options.badData("There is no memory to read an SVG")
                }
                defer { gwi_svg_free(drawing) }
                return try Self.image(of: drawing, options)
            }
        }
    }

    private static func image(of drawing: OpaquePointer, _ options: DecodeOptions) throws(ImageError) -> WebImage {
        func failure() -> ImageError { options.badData("librsvg: \(String(cString: gwi_svg_message(drawing)))") }
        var (width, height) = (0.0, 0.0)
        guard gwi_svg_size(drawing, &width, &height) else { throw failure() }
        guard width.isFinite, height.isFinite, width > 0, height > 0 else {
            throw options.badData("The SVG has no size")
        }
        // The width of many icons is a little more than 16, and as an image of 17 pixels they would be blurred.
        let natural = PixelSize(
            width: Int(bounded: max(width.rounded(), 1)),
            height: Int(bounded: max(height.rounded(), 1))
        )
        try options.checkLimits(natural)
        let scalable = options.scalableSize(natural)
        let target = options.size.target(for: scalable ?? natural)
        try options.checkLimits(target)
        guard max(target.width, target.height) <= longestSide else { throw options.outOfMemory(target) }
        try options.checkReservation(target.pixelCount)
        var isDrawn = false
        let pixels = PixelBuffer(size: target, format: .rgbaPremultiplied) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            isDrawn = gwi_svg_draw(drawing, memory.baseAddress, Int32(target.width), Int32(target.height))
            // cairo stores blue in the lowest byte of a word.
            let words = memory.bindMemory(to: UInt32.self)
            for index in words.indices {
                let word = words[index]
                words[index] = (word & 0xFF00_FF00 | word >> 16 & 0xFF | (word & 0xFF) << 16).littleEndian
            }
        }
        guard let pixels else { throw options.outOfMemory(target) }
        guard isDrawn else { throw failure() }
        let image = WebImage(pixels: pixels, naturalSize: natural, format: .svg, .up, options)
        // A larger widget draws the image again at its size.
        return scalable.map { size in image.with { $0.sourceSize = size } } ?? image
    }
}
