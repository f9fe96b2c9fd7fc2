internal import CWebImageSandboxShims
import FoundationEssentials
import WebImageCore

/// The answer of a decode worker. The pixels come with it.
enum DecodeAnswer: MessageFields {
    /// The worker is behind its fence and waits for commands.
    case ready(Fence)
    /// The command is done, and there is nothing to show.
    case done
    /// The worker does not know the handle, because it was started after the file was sent.
    case unknown
    /// The decoder failed. The app adds the URL to the error.
    case failure(ImageError)
    case image(ImageDescription)
    case frame(index: Int, PixelDescription)

    /// The rights that a worker has given up, as bits of gwi_worker_close_fence.
    struct Fence: OptionSet {
        var rawValue: UInt32

        static let files = Fence(rawValue: UInt32(GWI_FENCE_LANDLOCK))
        static let systemCalls = Fence(rawValue: UInt32(GWI_FENCE_SECCOMP))
    }

    /// The pixels that come with the answer.
    var pixels: PixelDescription? {
        switch self {
        case .image(let image): image.pixels
        case .frame(_, let pixels): pixels
        default: nil
        }
    }

    mutating func code(_ coder: inout MessageCoder) throws(MessageCoder.Malformed) {
        var kind: UInt8 =
            switch self {
            case .ready: 0
            case .done: 1
            case .unknown: 2
            case .failure: 3
            case .image: 4
            case .frame: 5
            }
        try coder.code(&kind)
        try coder.check(kind <= 5)
        if coder.isReading {
            self =
                switch kind {
                case 0: .ready([])
                case 1: .done
                case 2: .unknown
                case 3: .failure(ImageError(.badImageData, url: nil, reason: "", remedy: ""))
                case 4: .image(ImageDescription())
                default: .frame(index: 0, PixelDescription())
                }
        }
        switch self {
        case .ready(var fence):
            // An installed worker of another release is not used.
            var version = LibraryVersion.current
            try coder.code(&version)
            try coder.check(version == LibraryVersion.current)
            try coder.code(&fence.rawValue)
            self = .ready(fence)
        case .done, .unknown: break
        case .failure(var error):
            try error.code(&coder)
            self = .failure(error)
        case .image(var image):
            try image.code(&coder)
            self = .image(image)
        case .frame(var index, var pixels):
            try coder.code(count: &index)
            try pixels.code(&coder)
            self = .frame(index: index, pixels)
        }
    }
}

/// The size and the layout of pixels.
struct PixelDescription: MessageFields {
    var size = PixelSize(width: 0, height: 0)
    var hasAlpha = false
    var colors = PixelBuffer.Colors.standard
    /// Where the pixels are.
    var carrier = WorkerCarrier.message
    /// The first byte of the pixels in the shared memory.
    var offset = 0

    init() {}

    init(_ pixels: PixelBuffer) {
        (size, hasAlpha, colors) = (pixels.size, pixels.hasAlpha, pixels.colors)
    }

    var format: PixelBuffer.Format { hasAlpha ? .rgbaPremultiplied : .rgb }

    /// The number of bytes of the pixels, which fits into memory.
    var byteCount: Int { size.pixelCount * format.bytesPerPixel * colors.bytesPerChannel }

    mutating func code(_ coder: inout MessageCoder) throws(MessageCoder.Malformed) {
        try coder.code(imageSize: &size)
        try coder.code(&hasAlpha)
        try coder.code(&colors.gamut, among: PixelBuffer.Colors.Gamut.allCases)
        try coder.code(&colors.isDeep)
        try coder.code(&carrier, among: WorkerCarrier.allCases)
        try coder.code(count: &offset)
    }
}

/// The properties of a decoded image, without its pixels.
struct ImageDescription: MessageFields {
    var pixels = PixelDescription()
    var naturalSize = PixelSize(width: 0, height: 0)
    var sourceSize = PixelSize(width: 0, height: 0)
    var decodedSize = PixelSize(width: 0, height: 0)
    var orientation = ImageOrientation.up
    var isPartial = false
    var isPreview = false
    var isThumbnail = false
    /// The animation, whose durations follow the pixels.
    var animation: Animation?

    struct Animation {
        var frameCount = 0
        var loopCount = 0
        var size = PixelSize(width: 0, height: 0)
        var hasAlpha = false
    }

    var frameCount: Int { animation?.frameCount ?? 0 }

    init() {}

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

    mutating func code(_ coder: inout MessageCoder) throws(MessageCoder.Malformed) {
        try pixels.code(&coder)
        try coder.code(imageSize: &naturalSize)
        try coder.code(imageSize: &sourceSize)
        try coder.code(imageSize: &decodedSize)
        try coder.code(&orientation, among: ImageOrientation.allCases)
        try coder.code(&isPartial)
        try coder.code(&isPreview)
        try coder.code(&isThumbnail)
        var animation = animation ?? Animation()
        try coder.code(count: &animation.frameCount)
        guard animation.frameCount != 0 else { return }
        try coder.check(animation.frameCount > 1 && animation.frameCount <= 1 << 24)
        try coder.code(count: &animation.loopCount)
        try coder.code(imageSize: &animation.size)
        try coder.code(&animation.hasAlpha)
        self.animation = animation
    }
}
