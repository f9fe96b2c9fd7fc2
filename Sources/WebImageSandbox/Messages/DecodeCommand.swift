import FoundationEssentials
import WebImageCore

/// What the app asks of a decode worker. The bytes of a file come with it.
struct DecodeCommand {
    enum Kind: UInt8 {
        /// Decodes a whole file.
        case decode = 1
        /// Finds the thumbnail in a file.
        case thumbnail
        /// Starts to decode a file that is arriving, and names it.
        case begin
        /// Takes the next bytes of such a file.
        case append
        /// Asks for what is to be seen of it.
        case partialImage
        /// Takes the whole file.
        case finish
        /// Asks for a frame of an animation, with the bytes of the file that the worker has not.
        case frame
        /// Forgets a file. There is no answer.
        case close
        /// Decodes a part of a whole file.
        case region

        /// Whether the worker needs the bytes after its answer.
        var keepsBytes: Bool {
            switch self {
            case .append, .finish, .frame: true
            default: false
            }
        }
    }

    var kind: Kind
    /// Names what the worker keeps between commands.
    var handle: UInt64 = 0
    var format = ImageFormat.unknown
    var options = DecodeOptions()
    /// The part of the image that is wanted.
    var region = DecodeRegion()
    /// The frame that is wanted.
    var index = 0
    /// The number of bytes of an animation's file that were sent before.
    var offset = 0
    /// Whether more of an animation's file will follow.
    var isArriving = false
    /// The number of bytes of the file that come with the command; `nil` for none.
    var byteCount: Int?
    /// Where they are.
    var carrier = WorkerCarrier.message
    /// What the answer may bring, if that is less than the options allow. It stays in the app.
    var limit: DecodeAnswer.Limit?

    func write(to writer: inout MessageWriter) {
        writer.add(kind.rawValue)
        writer.add(handle)
        writer.add(format.rawValue)
        writer.add(Int64(index))
        writer.add(Int64(offset))
        writer.add(isArriving)
        writer.add(Int64(byteCount ?? -1))
        writer.add(carrier.rawValue)
        options.write(to: &writer)
        if kind == .region { writer.add(region) }
    }

    init(_ kind: Kind, handle: UInt64 = 0) {
        self.kind = kind
        self.handle = handle
    }

    init(from reader: inout MessageReader) throws(MessageReader.Malformed) {
        guard let kind = Kind(rawValue: try reader.number()) else { throw MessageReader.Malformed() }
        self.kind = kind
        handle = try reader.number()
        format = ImageFormat(rawValue: try reader.text())
        index = try reader.count()
        offset = try reader.count()
        isArriving = try reader.flag()
        let byteCount = try reader.number(Int64.self)
        self.byteCount = byteCount < 0 ? nil : Int(byteCount)
        carrier = try reader.carrier()
        options = try DecodeOptions(from: &reader)
        if kind == .region { region = try reader.region() }
    }
}

extension DecodeOptions {
    /// Writes what matters to a decoder. The URL stays in the app, and so does the account of its memory.
    func write(to writer: inout MessageWriter) {
        writer.add(size)
        writer.add(scale)
        writer.add(Int64(maximumPixelCount))
        writer.add(Int64(maximumFrameCount))
        writer.add(isFirstFrameOnly)
        writer.add(formatHint?.rawValue ?? "")
        writer.add(convertsToSRGB)
        writer.add(appliesOrientation)
        writer.add(keepsWideColors)
        writer.add(Int64(reservedPixelCount ?? -1))
        writer.add(UInt8(pixelFormat == nil ? 0 : pixelFormat == .rgb ? 1 : 2))
    }

    init(from reader: inout MessageReader) throws(MessageReader.Malformed) {
        self.init(
            size: try reader.decodeSize(),
            scale: try reader.real(),
            maximumPixelCount: Int(try reader.number(Int64.self))
        )
        maximumFrameCount = Int(try reader.number(Int64.self))
        isFirstFrameOnly = try reader.flag()
        let hint = try reader.text()
        formatHint = hint.isEmpty ? nil : ImageFormat(rawValue: hint)
        convertsToSRGB = try reader.flag()
        appliesOrientation = try reader.flag()
        keepsWideColors = try reader.flag()
        let reserved = try reader.number(Int64.self)
        reservedPixelCount = reserved < 0 ? nil : Int(reserved)
        switch try reader.number(UInt8.self) {
        case 1: pixelFormat = .rgb
        case 2: pixelFormat = .rgbaPremultiplied
        default: pixelFormat = nil
        }
    }
}

extension MessageWriter {
    mutating func add(_ region: DecodeRegion) {
        add(Int64(region.rect.x))
        add(Int64(region.rect.y))
        add(region.rect.size)
        add(Int64(region.reduction))
    }

    mutating func add(_ size: PixelSize) {
        add(Int64(size.width))
        add(Int64(size.height))
    }

    mutating func add(_ size: DecodeSize) {
        switch size {
        case .original: add(UInt8(0))
        case .contain(let size): add(UInt8(1), size)
        case .cover(let size): add(UInt8(2), size)
        case .stretch(let size): add(UInt8(3), size)
        case .within(let byteCount):
            add(UInt8(4))
            add(Int64(byteCount))
        }
    }

    private mutating func add(_ kind: UInt8, _ size: PixelSize) {
        add(kind)
        add(size)
    }
}

extension MessageReader {
    mutating func region() throws(Malformed) -> DecodeRegion {
        var rect = PixelRect(x: try count(), y: try count(), width: 0, height: 0)
        rect.size = try pixelSize()
        return DecodeRegion(rect: rect, reduction: try count())
    }

    /// A size as it was written, which may be empty.
    mutating func pixelSize() throws(Malformed) -> PixelSize {
        PixelSize(width: Int(try number(Int64.self)), height: Int(try number(Int64.self)))
    }

    mutating func decodeSize() throws(Malformed) -> DecodeSize {
        switch try number(UInt8.self) {
        case 0: .original
        case 1: .contain(try pixelSize())
        case 2: .cover(try pixelSize())
        case 3: .stretch(try pixelSize())
        case 4: .within(byteCount: Int(try number(Int64.self)))
        default: throw Malformed()
        }
    }
}
