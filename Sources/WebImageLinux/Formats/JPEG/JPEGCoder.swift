internal import CWebImageTurboJPEG
package import FoundationEssentials
package import WebImageCore

/// Decodes JPEG with libjpeg-turbo straight to the pixels of a texture: scaled by the inverse DCT to the smallest size
/// that will do, which is a quarter of the work for a quarter of the size, and from there to the size asked for.
///
/// The few files in CMYK are gdk-pixbuf's.
package struct JPEGCoder: ImageDecoding {
    private let other: PixbufCoder

    /// - Parameter other: Decodes what this one does not.
    package init(other: PixbufCoder = PixbufCoder()) {
        self.other = other
    }

    package func canDecode(_ format: ImageFormat) -> Bool { format == .jpeg }

    package func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        let known = ImageHeader(reading: data)
        if let known { try options.check(known.size) }
        guard let session = TurboSession() else { return try other.decode(data, options: options) }
        let header = try session.readHeader(data, options)
        guard header.isRGB else { return try other.decode(data, options: options) }
        try options.check(header.size)
        guard data.withUnsafeBytes({ JPEGHeader.isComplete(ByteReader($0)) }) else {
            throw options.badData("The JPEG ends before its end marker: it is truncated")
        }
        let orientation = known?.orientation ?? .up
        let natural = orientation.apply(to: header.size)
        let target = orientation.apply(to: options.size.target(for: natural))
        let pixels = try session.decode(data, at: target, of: header.size, orientation, options)
        return WebImage(pixels: pixels, naturalSize: natural, format: .jpeg, orientation, options)
            .converted(from: options.convertsToSRGB ? EmbeddedProfile.read(data) : nil)
    }

    package func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        JPEGIncrementalDecoder(options)
    }
}

/// A decompressor of libjpeg-turbo, for one file.
private struct TurboSession: ~Copyable {
    struct Header {
        let size: PixelSize
        let isRGB: Bool
    }

    private let handle: tjhandle

    init?() {
        guard let handle = tjInitDecompress() else { return nil }
        self.handle = handle
    }

    deinit {
        tjDestroy(handle)
    }

    func readHeader(_ data: Data, _ options: DecodeOptions) throws(ImageError) -> Header {
        var (width, height, sampling, space) = (Int32(0), Int32(0), Int32(0), Int32(0))
        let code = data.withUnsafeBytes {
            let bytes = $0.bindMemory(to: UInt8.self).baseAddress
            return tjDecompressHeader3(handle, bytes, UInt($0.count), &width, &height, &sampling, &space)
        }
        guard code == 0 || tjGetErrorCode(handle) == TJERR_WARNING.rawValue else { throw options.badData(message) }
        let isRGB = space != TJCS_CMYK.rawValue && space != TJCS_YCCK.rawValue
        return Header(size: PixelSize(width: Int(width), height: Int(height)), isRGB: isRGB)
    }

    /// - Parameters:
    ///   - target: The size as stored, before it is turned.
    ///   - stored: That of the file.
    func decode(
        _ data: Data,
        at target: PixelSize,
        of stored: PixelSize,
        _ orientation: ImageOrientation,
        _ options: DecodeOptions
    ) throws(ImageError) -> PixelBuffer {
        let size = stored.divided(by: stored.divisor(for: target))
        var failure: ImageError?
        let decoded = PixelBuffer(size: size, format: .rgb) { memory in
            failure = decompress(data, into: memory, size, options)
        }
        if let failure { throw failure }
        guard let decoded else { throw options.outOfMemory(size) }
        guard let result = decoded.picture(at: target, orientation) else {
            throw options.outOfMemory(target)
        }
        return result
    }

    private func decompress(
        _ data: Data,
        into memory: UnsafeMutableRawBufferPointer,
        _ size: PixelSize,
        _ options: DecodeOptions
    ) -> ImageError? {
        let code = data.withUnsafeBytes {
            tjDecompress2(
                handle,
                $0.bindMemory(to: UInt8.self).baseAddress,
                UInt($0.count),
                memory.bindMemory(to: UInt8.self).baseAddress,
                Int32(size.width),
                0,
                Int32(size.height),
                Int32(TJPF_RGB.rawValue),
                TJFLAG_LIMITSCANS
            )
        }
        // A warning is for damage that shows as a smudge; what is there is shown, as everybody does.
        return code == 0 || tjGetErrorCode(handle) == TJERR_WARNING.rawValue ? nil : options.badData(message)
    }

    private var message: String { String(cString: tjGetErrorStr2(handle)) }
}

extension PixelSize {
    func divided(by divisor: Int) -> PixelSize {
        PixelSize(width: (width + divisor - 1) / divisor, height: (height + divisor - 1) / divisor)
    }

    /// By how much the inverse DCT may divide an image that is then scaled down to target: one of the numbers that
    /// libjpeg-turbo has fast code for.
    func divisor(for target: PixelSize) -> Int { [8, 4, 2].first { divided(by: $0).covers(target) } ?? 1 }

    fileprivate func covers(_ other: PixelSize) -> Bool { width >= other.width && height >= other.height }
}
