internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// Reads one PNG file with libpng, whole or while it arrives.
struct PNGReader: ~Copyable {
    /// The bytes passed to libpng at a time, because it copies them.
    private static let pieceLength = 1 << 16

    private let png: OpaquePointer
    private let options: DecodeOptions
    private let keepsDepth: Bool
    /// The number of bytes of a whole file passed to libpng.
    private var readCount = 0

    /// Makes a reader without a file.
    /// - Parameter keepsDepth: Whether a whole file with 16 bits a channel keeps them.
    init(keepsDepth: Bool = false, _ options: DecodeOptions) throws(ImageError) {
        guard let png = gwi_png_new() else { throw options.badData("There is no memory to read a PNG") }
        if keepsDepth { gwi_png_keep_depth(png) }
        self.png = png
        self.options = options
        self.keepsDepth = keepsDepth
    }

    deinit {
        gwi_png_free(png)
    }

    /// Adds the next bytes. Bytes after the header wait for a target.
    func append(_ data: Data) throws(ImageError) {
        let isSound = data.withUnsafeBytes {
            gwi_png_append(png, $0.bindMemory(to: UInt8.self).baseAddress, $0.count)
        }
        guard isSound || progress.is_done else {
            throw options.badData("The PNG is damaged (\(String(cString: gwi_png_message(png))))")
        }
    }

    /// The stored size, and whether the pixels have alpha; `nil` until the header has arrived.
    var header: (size: PixelSize, hasAlpha: Bool)? {
        var (width, height, hasAlpha) = (UInt32(0), UInt32(0), false)
        guard gwi_png_header(png, &width, &height, &hasAlpha) else { return nil }
        return (PixelSize(width: Int(width), height: Int(height)), hasAlpha)
    }

    /// Reads the header of a whole file.
    /// - Returns: The stored size.
    mutating func readHeader(of data: Data) throws(ImageError) -> PixelSize {
        while header == nil, readCount < data.count { try append(next(of: data)) }
        guard let header else { throw truncation }
        return header.size
    }

    /// Whether the channels of the file have 16 bits; known once the header is read.
    var isDeep: Bool { gwi_png_is_deep(png) }

    /// The color profile of the file, if the options convert colors; known once the header is read.
    /// - Parameter head: The file at least up to its pixels.
    func profile(_ head: Data) -> Data? {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        guard options.convertsToSRGB else { return nil }
        let isThere = gwi_png_profile(png, &bytes, &count)
        return PNGColors.profile(of: head, embedded: isThere ? bytes.map { Data(bytes: $0, count: Int(count)) } : nil)
    }

    /// The progress of writing to the target.
    var progress: gwi_png_progress {
        var progress = gwi_png_progress()
        gwi_png_get_progress(png, &progress)
        return progress
    }

    /// Sets the memory that receives pixels with straight alpha, and writes the available ones.
    func setTarget(_ start: UnsafeMutableRawPointer, bytesPerRow: Int) throws(ImageError) {
        gwi_png_set_target(png, start.assumingMemoryBound(to: UInt8.self), bytesPerRow)
        try append(Data())
    }

    /// The error for a truncated file.
    var truncation: ImageError { options.badData("The PNG ends before its pixels do: it is truncated") }

    /// Decodes the pixels of a whole file after ``readHeader(of:)``, with premultiplied alpha. Call it once.
    mutating func pixels(of data: Data) throws(ImageError) -> PixelBuffer {
        guard let (size, hasAlpha) = header else { throw truncation }
        let format: PixelBuffer.Format = hasAlpha ? .rgbaPremultiplied : .rgb
        if let memory = data.withUnsafeBytes({ decode($0) }) {
            let count = size.pixelCount * format.bytesPerPixel
            if hasAlpha { PixelBuffer.multiplyAlpha(in: UnsafeMutableRawBufferPointer(start: memory, count: count)) }
            return PixelBuffer(adopting: memory, size: size, format: format)
        }
        let colors = PixelBuffer.Colors(gamut: .sRGB, isDeep: keepsDepth && isDeep)
        guard let pixels = PixelBuffer(uninitialized: size, format, colors) else { throw options.outOfMemory(size) }
        var failure: ImageError?
        pixels.update { memory in
            do throws(ImageError) { try read(data, into: memory) } catch { failure = error }
            guard failure == nil, hasAlpha else { return }
            colors.isDeep ? PixelBuffer.multiplyDeepAlpha(in: memory) : PixelBuffer.multiplyAlpha(in: memory)
        }
        if let failure { throw failure }
        return pixels
    }

    /// Lets libpng write the pixels.
    private mutating func read(_ data: Data, into memory: UnsafeMutableRawBufferPointer) throws(ImageError) {
        try setTarget(memory.baseAddress!, bytesPerRow: memory.count / (header?.size.height ?? 1))
        while !progress.is_done, readCount < data.count { try append(next(of: data)) }
        guard progress.is_done else { throw truncation }
    }

    /// Inflates all pixels in one call; `nil` for files with unusual features.
    private func decode(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutablePointer<UInt8>? {
        guard let first = PNGChunks(ByteReader(bytes)).first(where: { $0.name == .pixels }) else { return nil }
        let start = bytes.bindMemory(to: UInt8.self).baseAddress
        return gwi_png_decode(png, start, bytes.count, first.range.lowerBound)
    }

    private mutating func next(of data: Data) -> Data {
        defer { readCount += Self.pieceLength }
        return data.dropFirst(readCount).prefix(Self.pieceLength)
    }
}
