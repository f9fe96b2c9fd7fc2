internal import CWebImageSandboxShims
import FoundationEssentials
import WebImageCore

/// What a decode worker says. The pixels come with it.
enum DecodeAnswer {
    /// The worker is behind its fence and waits for commands.
    case ready(Fence)
    /// The command is done, and there is nothing to show.
    case done
    /// The worker does not know the handle: it was started after the file was sent.
    case unknown
    case failure(DecodeFailure)
    case image(ImageDescription)
    case frame(index: Int, PixelDescription)

    /// The rights that a worker has given up, as the bits of gwi_worker_close_fence.
    struct Fence: OptionSet {
        let rawValue: UInt32

        static let files = Fence(rawValue: UInt32(GWI_FENCE_LANDLOCK))
        static let systemCalls = Fence(rawValue: UInt32(GWI_FENCE_SECCOMP))
    }

    private enum Kind: UInt8 {
        case ready = 1
        case done, unknown, failure, image, frame
    }

    func write(to writer: inout MessageWriter) {
        switch self {
        case .ready(let fence):
            writer.add(Kind.ready.rawValue)
            writer.add(Self.version)
            writer.add(fence.rawValue)
        case .done: writer.add(Kind.done.rawValue)
        case .unknown: writer.add(Kind.unknown.rawValue)
        case .failure(let failure):
            writer.add(Kind.failure.rawValue)
            failure.write(to: &writer)
        case .image(let image):
            writer.add(Kind.image.rawValue)
            image.write(to: &writer)
        case .frame(let index, let pixels):
            writer.add(Kind.frame.rawValue)
            writer.add(Int64(index))
            pixels.write(to: &writer)
        }
    }

    init(from reader: inout MessageReader) throws(MessageReader.Malformed) {
        switch Kind(rawValue: try reader.number()) {
        case .ready:
            guard try reader.text() == Self.version else { throw MessageReader.Malformed() }
            self = .ready(Fence(rawValue: try reader.number()))
        case .done: self = .done
        case .unknown: self = .unknown
        case .failure: self = .failure(try DecodeFailure(from: &reader))
        case .image: self = .image(try ImageDescription(from: &reader))
        case .frame: self = .frame(index: try reader.count(), try PixelDescription(from: &reader))
        case nil: throw MessageReader.Malformed()
        }
    }

    /// An installed worker of another release is not used.
    private static let version = LibraryVersion.current
}

/// The size and the layout of pixels.
struct PixelDescription {
    var size: PixelSize
    var hasAlpha: Bool
    var colors: PixelBuffer.Colors
    /// Where the pixels are.
    var carrier = WorkerCarrier.message
    /// The first byte of the pixels in the shared memory.
    var offset = 0

    init(_ pixels: PixelBuffer) {
        (size, hasAlpha, colors) = (pixels.size, pixels.hasAlpha, pixels.colors)
    }

    var format: PixelBuffer.Format { hasAlpha ? .rgbaPremultiplied : .rgb }

    /// The bytes of the pixels, which fit in memory.
    var byteCount: Int { size.pixelCount * format.bytesPerPixel * colors.bytesPerChannel }

    func write(to writer: inout MessageWriter) {
        writer.add(size)
        writer.add(hasAlpha)
        writer.add(colors.gamut == .displayP3)
        writer.add(colors.isDeep)
        writer.add(carrier.rawValue)
        writer.add(Int64(offset))
    }

    init(from reader: inout MessageReader) throws(MessageReader.Malformed) {
        size = try reader.pixelSize()
        // What follows counts their bytes.
        guard !size.isEmpty, max(size.width, size.height) <= Self.longestSide, size.pixelCount <= Self.largestCount
        else {
            throw MessageReader.Malformed()
        }
        hasAlpha = try reader.flag()
        let gamut: PixelBuffer.Colors.Gamut = try reader.flag() ? .displayP3 : .sRGB
        colors = PixelBuffer.Colors(gamut: gamut, isDeep: try reader.flag())
        carrier = try reader.carrier()
        offset = try reader.count()
    }

    private static let longestSide = 1 << 20
    private static let largestCount = 1 << 40
}

/// What is known of a decoded image beside its pixels.
struct ImageDescription {
    var pixels: PixelDescription
    var naturalSize: PixelSize
    var sourceSize: PixelSize
    var decodedSize: PixelSize
    var orientation: ImageOrientation
    var isPartial: Bool
    var isPreview: Bool
    var isThumbnail: Bool
    /// The frames of an animation, whose durations follow the pixels.
    var animation: Animation?

    struct Animation {
        var frameCount: Int
        var loopCount: Int
        var size: PixelSize
        var hasAlpha: Bool
    }

    init(_ image: WebImage) {
        let content = image.content
        pixels = PixelDescription(content.pixels)
        (naturalSize, sourceSize, decodedSize) = (content.naturalSize, content.sourceSize, content.decodedSize)
        (orientation, isPartial) = (content.orientation, content.isPartial)
        (isPreview, isThumbnail) = (content.isPreview, content.isThumbnail)
        animation = content.animation.map {
            Animation(frameCount: $0.frameCount, loopCount: $0.loopCount, size: $0.size, hasAlpha: $0.hasAlpha)
        }
    }

    /// The bytes that follow the message: the pixels and the durations.
    var byteCount: Int { pixels.byteCount + (animation?.frameCount ?? 0) * 2 * MemoryLayout<Int64>.size }

    func write(to writer: inout MessageWriter) {
        pixels.write(to: &writer)
        writer.add(naturalSize)
        writer.add(sourceSize)
        writer.add(decodedSize)
        writer.add(Int64(orientation.rawValue))
        writer.add(isPartial)
        writer.add(isPreview)
        writer.add(isThumbnail)
        writer.add(Int64(animation?.frameCount ?? 0))
        guard let animation else { return }
        writer.add(Int64(animation.loopCount))
        writer.add(animation.size)
        writer.add(animation.hasAlpha)
    }

    init(from reader: inout MessageReader) throws(MessageReader.Malformed) {
        pixels = try PixelDescription(from: &reader)
        naturalSize = try reader.sizeOfImage()
        sourceSize = try reader.sizeOfImage()
        decodedSize = try reader.sizeOfImage()
        orientation = ImageOrientation(rawValue: Int(try reader.number(Int64.self))) ?? .up
        isPartial = try reader.flag()
        isPreview = try reader.flag()
        isThumbnail = try reader.flag()
        let frameCount = try reader.count()
        guard frameCount > 0 else { return }
        guard frameCount > 1, frameCount <= Self.mostFrames else { throw MessageReader.Malformed() }
        animation = Animation(
            frameCount: frameCount,
            loopCount: try reader.count(),
            size: try reader.sizeOfImage(),
            hasAlpha: try reader.flag()
        )
    }

    private static let mostFrames = 1 << 24
}

extension MessageReader {
    /// The size of an image, with whose sides can be calculated.
    fileprivate mutating func sizeOfImage() throws(Malformed) -> PixelSize {
        let size = try pixelSize()
        guard !size.isEmpty else { throw Malformed() }
        return size.bounded
    }
}

/// Why a worker could not decode a file.
struct DecodeFailure {
    var code: ImageError.Code
    var reason: String
    var remedy: String
    var dependsOnRequest: Bool
    var isOfLaterFrames: Bool
    var unreservedPixelCount: Int?

    init(_ error: ImageError) {
        (code, reason, remedy) = (error.code, error.reason, error.remedy)
        (dependsOnRequest, isOfLaterFrames) = (error.dependsOnRequest, error.isOfLaterFrames)
        unreservedPixelCount = error.unreservedPixelCount
    }

    /// The error for the app, which alone knows the URL.
    func error(for url: URL?) -> ImageError {
        var error = ImageError(code, url: url, reason: reason, remedy: remedy)
        error.dependsOnRequest = dependsOnRequest
        error.isOfLaterFrames = isOfLaterFrames
        error.unreservedPixelCount = unreservedPixelCount
        return error
    }

    func write(to writer: inout MessageWriter) {
        writer.add(Int64(code.rawValue))
        writer.add(reason)
        writer.add(remedy)
        writer.add(dependsOnRequest)
        writer.add(isOfLaterFrames)
        writer.add(Int64(unreservedPixelCount ?? -1))
    }

    init(from reader: inout MessageReader) throws(MessageReader.Malformed) {
        let code = ImageError.Code(rawValue: Int(try reader.number(Int64.self)))
        self.code = Self.codes.contains(code) ? code : .badImageData
        reason = try reader.text().printable
        remedy = try reader.text().printable
        dependsOnRequest = try reader.flag()
        isOfLaterFrames = try reader.flag()
        let count = try reader.number(Int64.self)
        unreservedPixelCount = count < 0 ? nil : Int(count)
    }

    /// The errors of decoders. A worker has no word on others, such as whether the app is offline.
    private static let codes: Set<ImageError.Code> = [
        .badImageData, .unsupportedFormat, .imageTooLarge, .decoderUnavailable,
    ]
}

extension String {
    /// The text without characters that move the cursor of a terminal or the lines of a log.
    fileprivate var printable: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.filter {
                    !$0.properties.isDefaultIgnorableCodePoint && $0.value >= 32 && $0.value != 127
                }
            )
        )
    }
}
