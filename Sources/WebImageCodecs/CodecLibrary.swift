internal import CWebImageCodecShims
import WebImageCore

/// The libraries that decode formats, as far as they are installed. Asking loads none.
enum CodecLibrary {
    /// libheif has the decoders of videos in other libraries.
    static let heif: Set<ImageFormat> = {
        guard isInstalled("libheif.so.1") else { return [] }
        var formats: Set<ImageFormat> = []
        if isInstalled("libdav1d.so.6", "libdav1d.so.7", "libaom.so.3") { formats.insert(.avif) }
        if isInstalled("libde265.so.0") { formats.insert(.heif) }
        return formats
    }()

    static let hasJXL = isInstalled(
        "libjxl.so.0.11",
        "libjxl.so.0.7",
        "libjxl.so.0.10",
        "libjxl.so.0.9",
        "libjxl.so.0.8"
    )

    static let hasRSVG = isInstalled("librsvg-2.so.2")

    private static func isInstalled(_ names: StaticString...) -> Bool {
        let names = names.map { UnsafeRawPointer($0.utf8Start).assumingMemoryBound(to: CChar.self) as UnsafePointer? }
        return gwi_library_is_installed(names, names.count)
    }
}

extension DecodeOptions {
    /// The error for a library that is installed and cannot be used.
    func notLoaded(_ library: String, for format: ImageFormat) -> ImageError {
        ImageError(
            .unsupportedFormat,
            url: url,
            reason: "\(library) is installed, but cannot be loaded or does not decode \(format.name)",
            remedy: "Install it again with its decoders, or remove it, so that gdk-pixbuf decodes \(format.name)."
        )
    }
}
