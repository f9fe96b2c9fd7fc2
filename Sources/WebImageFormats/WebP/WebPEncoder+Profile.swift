internal import CWebImageLCMS
internal import CWebImageWebP
import FoundationEssentials
import WebImageCore

extension WebPEncoder {
    /// The profile of sRGB; `nil` when there was no memory for it.
    private static let profile: Data? = {
        guard let profile = cmsCreate_sRGBProfile() else { return nil }
        defer { cmsCloseProfile(profile) }
        var count = cmsUInt32Number(0)
        guard cmsSaveProfileToMem(profile, nil, &count) != 0 else { return nil }
        var data = Data(count: Int(count))
        let isSaved = data.withUnsafeMutableBytes { cmsSaveProfileToMem(profile, $0.baseAddress, &count) != 0 }
        return isSaved ? data : nil
    }()

    /// A file, still or animated, with the profile of sRGB (ICCP chunk: WebP Container Specification, section "Color Profile").
    static func withProfile(_ file: WebPData) throws(ImageError) -> Data {
        var file = file
        guard let profile, let container = WebPMuxCreate(&file, 0) else {
            throw .noMemory(toEncode: "the profile of a WebP")
        }
        defer { WebPMuxDelete(container) }
        var output = WebPData()
        WebPDataInit(&output)
        defer { WebPFree(UnsafeMutablePointer(mutating: output.bytes)) }
        let isWritten = profile.withUnsafeBytes { profile in
            var chunk = WebPData(bytes: profile.bindMemory(to: UInt8.self).baseAddress, size: profile.count)
            return WebPMuxSetChunk(container, "ICCP", &chunk, 0) == WEBP_MUX_OK
                && WebPMuxAssemble(container, &output) == WEBP_MUX_OK
        }
        guard isWritten, let bytes = output.bytes else {
            throw .encodingFailed(
                "libwebp writes no profile into a WebP of \(file.size) bytes",
                remedy: "Choose a smaller size, or leave WebPEncodeOptions.includesColorProfile out."
            )
        }
        return Data(bytes: bytes, count: output.size)
    }
}
