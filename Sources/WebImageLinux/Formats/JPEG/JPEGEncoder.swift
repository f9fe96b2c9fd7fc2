internal import CWebImageTurboJPEG
package import FoundationEssentials
package import WebImageCore

/// Writes JPEG with libjpeg-turbo. At high quality colours keep their full resolution.
package struct JPEGEncoder: ImageEncoding {
    package init() {}

    package func canEncode(_ format: ImageFormat) -> Bool { format == .jpeg }

    package func encode(
        _ pixels: PixelBuffer,
        as format: ImageFormat,
        quality: Double,
        options: EncodeOptions
    ) throws(ImageError) -> Data {
        guard let flat = pixels.flattened(onto: options.background), let handle = tjInitCompress() else {
            throw .encodingFailed("There is no memory for a JPEG of \(pixels.size) pixels")
        }
        defer { tjDestroy(handle) }
        var output: UnsafeMutablePointer<UInt8>?
        var count: UInt = 0
        defer { tjFree(output) }
        let sampling = quality >= 0.9 ? TJSAMP_444 : TJSAMP_420
        let code = flat.withUnsafeBytes { bytes in
            tjCompress2(
                handle,
                bytes.bindMemory(to: UInt8.self).baseAddress,
                Int32(flat.size.width),
                0,
                Int32(flat.size.height),
                Int32(TJPF_RGB.rawValue),
                &output,
                &count,
                Int32(sampling.rawValue),
                Int32(max(1, (quality * 100).rounded())),
                0
            )
        }
        guard code == 0, let output else { throw .encodingFailed(String(cString: tjGetErrorStr2(handle))) }
        return Data(bytes: output, count: Int(count))
    }
}
