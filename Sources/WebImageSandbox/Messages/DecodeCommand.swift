import WebImageCore

/// A command of the app to a decode worker. The bytes of a file come with it.
struct DecodeCommand: MessageFields {
    enum Kind: CaseIterable {
        /// Decodes a whole file.
        case decode
        /// Finds the thumbnail in a file.
        case thumbnail
        /// Starts to decode an arriving file under a handle.
        case begin
        /// Adds the next bytes of an arriving file.
        case append
        /// Asks for a partial image of an arriving file.
        case partialImage
        /// Adds the whole file, and asks for its image.
        case finish
        /// Asks for a frame of an animation, and adds bytes of the file that the worker does not have yet.
        case frame
        /// Forgets a file. There is no answer.
        case close
        /// Decodes a part of a whole file.
        case region

        /// Whether the worker needs the bytes after its answer.
        var keepsBytes: Bool { [.append, .finish, .frame].contains(self) }
    }

    var kind: Kind
    /// Identifies what the worker keeps between commands.
    var handle: UInt64
    var format = ImageFormat.unknown
    var options = DecodeOptions()
    /// The requested part of the image.
    var region = DecodeRegion()
    /// The index of the requested frame.
    var index = 0
    /// The number of bytes of an animation's file that were sent before.
    var offset = 0
    /// Whether more of an animation's file will follow.
    var isArriving = false
    /// The number of bytes of the file that come with the command; `nil` if there are none.
    var byteCount: Int?
    /// Where these bytes are.
    var carrier = WorkerCarrier.message
    /// What the answer may contain, if that is less than the options allow. It is not sent.
    var limit: DecodeAnswer.Limit?

    init(_ kind: Kind = .close, handle: UInt64 = 0) {
        self.kind = kind
        self.handle = handle
    }

    mutating func code(_ coder: inout MessageCoder) throws(MessageCoder.Malformed) {
        try coder.code(&kind, among: Kind.allCases)
        try coder.code(&handle)
        try coder.code(&format)
        try coder.code(count: &index)
        try coder.code(count: &offset)
        try coder.code(&isArriving)
        try coder.code(&byteCount)
        try coder.code(&carrier, among: WorkerCarrier.allCases)
        try options.code(&coder)
        try coder.code(count: &region.rect.x)
        try coder.code(count: &region.rect.y)
        try coder.code(&region.rect.size)
        try coder.code(count: &region.reduction)
    }
}

/// The options that decoders of the library use. The URL and the memory budget are not sent.
extension DecodeOptions: MessageFields {
    mutating func code(_ coder: inout MessageCoder) throws(MessageCoder.Malformed) {
        try size.code(&coder)
        try coder.code(&scale)
        try coder.code(&maximumPixelCount)
        try coder.code(&maximumFrameCount)
        try coder.code(&isFirstFrameOnly)
        var hint = formatHint ?? ImageFormat(rawValue: "")
        try coder.code(&hint)
        formatHint = hint.rawValue.isEmpty ? nil : hint
        try coder.code(&convertsToSRGB)
        try coder.code(&appliesOrientation)
        try coder.code(&keepsWideColors)
        try coder.code(&reservedPixelCount)
        try coder.code(&pixelFormat, among: [nil, .rgb, .rgbaPremultiplied])
    }
}

extension DecodeSize: MessageFields {
    mutating func code(_ coder: inout MessageCoder) throws(MessageCoder.Malformed) {
        var kind: UInt8
        var box = PixelSize(width: 0, height: 0)
        switch self {
        case .original: kind = 0
        case .contain(let size): (kind, box) = (1, size)
        case .cover(let size): (kind, box) = (2, size)
        case .stretch(let size): (kind, box) = (3, size)
        case .within(let byteCount): (kind, box.width) = (4, byteCount)
        }
        try coder.code(&kind)
        try coder.code(&box)
        try coder.check(kind <= 4)
        guard coder.isReading else { return }
        self =
            switch kind {
            case 0: .original
            case 1: .contain(box)
            case 2: .cover(box)
            case 3: .stretch(box)
            default: .within(byteCount: box.width)
            }
    }
}
