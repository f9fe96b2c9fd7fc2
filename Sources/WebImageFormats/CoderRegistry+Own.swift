package import WebImageCore

extension CoderRegistry {
    /// The decoders of the formats that the library decodes itself.
    package static var ownDecoders: [any ImageDecoding] {
        [JPEGCoder(), PNGCoder(), GIFCoder(), WebPCoder(), TIFFCoder(), BMPCoder(), ICOCoder()]
    }

    /// The encoders of the library.
    package static var ownEncoders: [any ImageEncoding] {
        [JPEGEncoder(), WebPEncoder(), PNGEncoder(), GIFEncoder()]
    }

    /// The instructions for installing a decoder of a format on Debian.
    @Sendable package static func debianRemedy(for format: ImageFormat) -> String? {
        if format == .pdf {
            return "Add PDFCoder of the product WebImagePDF to ImageManager.Configuration.decoders, and install the "
                + "Debian package libpoppler-glib8, which is libpoppler-glib8t64 from Debian 13 on."
        }
        return debianPackage(of: format).map { "Install the Debian package \($0)." }
    }

    /// The Debian package that decodes a format, if the library does not depend on it.
    private static func debianPackage(of format: ImageFormat) -> String? {
        switch format {
        case .svg: "librsvg2-2"
        case .avif, .heif: "libheif1"
        case .jpegXL: "libjxl0.7, which is libjxl0.11 from Debian 13 on"
        case .icns, .xpm: "libgdk-pixbuf-2.0-0"
        default: nil
        }
    }
}
