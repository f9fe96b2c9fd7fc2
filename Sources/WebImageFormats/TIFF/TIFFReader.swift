internal import CWebImageShims
import FoundationEssentials
import Glibc
import WebImageCore

/// Reads the first image of a TIFF file with libtiff. The bytes must stay in place while the reader exists.
struct TIFFReader: ~Copyable {
    private let tiff: OpaquePointer
    private let header: gwi_tiff_header
    private let layout: TIFFLayout
    private let options: DecodeOptions

    /// - Throws: If the header is damaged, or its pixels are of an unknown kind or exceed the limit.
    init(_ bytes: UnsafeRawBufferPointer, _ options: DecodeOptions) throws(ImageError) {
        let limit = TIFFLayout.memoryLimit(options)
        guard let tiff = gwi_tiff_new(bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, limit) else {
            throw options.badData("There is no memory to read a TIFF")
        }
        var header = gwi_tiff_header()
        do throws(ImageError) {
            guard gwi_tiff_read_header(tiff, &header) else { throw options.damagedTIFF(tiff) }
            guard !header.is_raw_photo else { throw options.rawPhotograph }
            try options.check(PixelSize(width: Int(header.width), height: Int(header.height)))
            layout = try TIFFLayout(header, options)
        } catch {
            gwi_tiff_free(tiff)
            throw error
        }
        self.tiff = tiff
        self.header = header
        self.options = options
    }

    deinit {
        gwi_tiff_free(tiff)
    }

    /// The stored size in pixels.
    var size: PixelSize { PixelSize(width: Int(header.width), height: Int(header.height)) }

    var orientation: ImageOrientation { ImageOrientation(rawValue: Int(header.orientation)) ?? .up }

    /// The ICC profile; `nil` if there is none.
    var profile: Data? {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        guard gwi_tiff_profile(tiff, &bytes, &count), let bytes else { return nil }
        return Data(bytes: bytes, count: Int(count))
    }

    /// Decodes the pixels in stored orientation, with premultiplied alpha.
    func pixels() throws(ImageError) -> PixelBuffer {
        let format: PixelBuffer.Format = layout.alphaIndex == nil ? .rgb : .rgbaPremultiplied
        let pixels = try PixelBuffer(size: size, format: format) { memory throws(ImageError) in
            if layout.colors == .other { try readRGB(into: memory) } else { try readSamples(into: memory) }
            if layout.alphaIndex != nil, !layout.isPremultiplied { PixelBuffer.multiplyAlpha(in: memory) }
        }
        guard let pixels else { throw options.outOfMemory(size) }
        return pixels
    }

    /// Reads tiles or strips and converts their samples.
    private func readSamples(into memory: UnsafeMutableRawBufferPointer) throws(ImageError) {
        let (width, height) = (size.width, size.height)
        let inks = layout.colors == .cmyk ? InkConversion.from(profile, options) : nil
        let colors = TIFFColors(header, layout, inks: inks)
        let planes = layout.planes
        guard let segment = TIFFSegment(byteCount: layout.bytesPerSegment, planeCount: planes.count) else {
            throw options.outOfMemory(size)
        }
        var packed = [UInt8](repeating: 0, count: layout.bytesPerRow)
        var samples = [UInt8](repeating: 0, count: layout.segmentSize.width * layout.samplesPerPixel)
        var row = [UInt8](repeating: 0, count: layout.segmentSize.width * layout.bytesPerPixel)
        for y in stride(from: 0, to: height, by: layout.segmentSize.height) {
            for x in stride(from: 0, to: width, by: layout.segmentSize.width) {
                let columns = min(layout.segmentSize.width, width - x)
                for (index, plane) in planes.enumerated() {
                    let position = gwi_tiff_position(x: UInt32(x), y: UInt32(y), sample: UInt16(plane))
                    try read(position, into: segment.plane(index))
                }
                for line in 0..<min(layout.segmentSize.height, height - y) {
                    for index in planes.indices {
                        segment.copyRow(line, of: index, into: &packed)
                        layout.unpack(packed, columns, plane: index, into: &samples)
                    }
                    colors.convert(samples, columns, into: &row)
                    let start = ((y + line) * width + x) * layout.bytesPerPixel
                    let count = columns * layout.bytesPerPixel
                    UnsafeMutableRawBufferPointer(rebasing: memory[start..<start + count]).copyBytes(
                        from: row[..<count]
                    )
                }
            }
        }
    }

    /// Decodes one tile or strip.
    private func read(
        _ position: gwi_tiff_position,
        into target: UnsafeMutableRawBufferPointer
    ) throws(ImageError) {
        let start = target.bindMemory(to: UInt8.self).baseAddress
        let isRead =
            header.is_tiled
            ? gwi_tiff_read_tile(tiff, position, start, target.count)
            : gwi_tiff_read_strip(tiff, position, start, target.count)
        guard isRead else { throw options.damagedTIFF(tiff) }
    }

    /// Lets libtiff convert color spaces that only it supports.
    private func readRGB(into memory: UnsafeMutableRawBufferPointer) throws(ImageError) {
        let (width, height) = (size.width, size.height)
        let step = min(layout.segmentSize.height, height)
        guard let segment = TIFFSegment(byteCount: width * step * 4, planeCount: 1) else {
            throw options.outOfMemory(size)
        }
        let pixels = segment.plane(0).bindMemory(to: UInt32.self)
        for y in stride(from: 0, to: height, by: step) {
            let rows = min(step, height - y)
            guard gwi_tiff_read_rgba(tiff, UInt32(y), UInt32(rows), pixels.baseAddress) else {
                throw options.damagedTIFF(tiff)
            }
            for index in 0..<rows * width {
                for channel in 0..<3 {
                    let value = pixels[index] >> UInt32(channel * 8)
                    memory[(y * width + index) * 3 + channel] = UInt8(truncatingIfNeeded: value)
                }
            }
        }
    }
}

/// Zero-initialized memory for a decoded tile or strip in all planes.
private struct TIFFSegment: ~Copyable {
    private let memory: UnsafeMutableRawBufferPointer
    private let byteCount: Int

    /// - Returns: `nil` if out of memory.
    init?(byteCount: Int, planeCount: Int) {
        guard let start = calloc(planeCount, byteCount) else { return nil }
        memory = UnsafeMutableRawBufferPointer(start: start, count: planeCount * byteCount)
        self.byteCount = byteCount
    }

    deinit {
        free(memory.baseAddress)
    }

    func plane(_ index: Int) -> UnsafeMutableRawBufferPointer {
        precondition((index + 1) * byteCount <= memory.count)
        return UnsafeMutableRawBufferPointer(rebasing: memory[index * byteCount..<(index + 1) * byteCount])
    }

    /// Copies a row to an array, whose bounds are checked even in release builds.
    func copyRow(_ row: Int, of plane: Int, into packed: inout [UInt8]) {
        let start = row * packed.count
        precondition(start + packed.count <= byteCount)
        let source = self.plane(plane)
        packed.withUnsafeMutableBytes {
            $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[start..<start + $0.count]))
        }
    }
}

extension DecodeOptions {
    fileprivate var rawPhotograph: ImageError {
        ImageError(
            .unsupportedFormat,
            url: url,
            reason: "The TIFF is a raw photograph, of which the library could only show the preview",
            remedy: "Convert it to JPEG, or give the manager a decoder for it (ImageManager.Configuration.decoders)."
        )
    }

    fileprivate func damagedTIFF(_ tiff: OpaquePointer) -> ImageError {
        let message = String(cString: gwi_tiff_message(tiff))
        return badData("The TIFF is damaged or of an unknown kind (\(message.isEmpty ? "no cause is known" : message))")
    }
}
