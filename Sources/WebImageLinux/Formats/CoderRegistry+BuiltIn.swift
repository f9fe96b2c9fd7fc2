package import WebImageCore

extension CoderRegistry {
    /// A registry of every coder that the library brings, as managers have it.
    package static var builtIn: CoderRegistry { builtIn(adding: []) }

    /// A registry of every coder that the library brings, behind those of an app.
    /// - Parameters:
    ///   - decoders: The app's decoders, in the order in which they are asked.
    ///   - encoders: The app's encoders, in the order in which they are asked.
    ///   - other: Decodes the formats without a decoder of the library, and is asked last of all.
    package static func builtIn(
        adding decoders: [any ImageDecoding],
        encoders: [any ImageEncoding] = [],
        other: any ImageDecoding = PixbufCoder()
    ) -> CoderRegistry {
        let builtIn: [any ImageDecoding] = [
            JPEGCoder(), PNGCoder(), GIFCoder(), WebPCoder(), TIFFCoder(), BMPCoder(), ICOCoder(),
        ]
        return CoderRegistry(
            decoders + builtIn + [other],
            encoders: encoders + [JPEGEncoder(), WebPEncoder(), PNGEncoder()],
            remedy: debianRemedy
        )
    }

    /// How to install a decoder of a format on Debian.
    @Sendable package static func debianRemedy(for format: ImageFormat) -> String? {
        debianPackage(of: format).map { "Install the Debian package \($0)." }
    }

    /// The Debian package of gdk-pixbuf's loader for a format, when it is not part of this library's dependencies.
    private static func debianPackage(of format: ImageFormat) -> String? {
        switch format {
        case .svg: "librsvg2-common"
        case .avif: "libavif-gdk-pixbuf"
        case .heif: "heif-gdk-pixbuf"
        case .jpegXL: "libjxl-gdk-pixbuf, which Debian 13 and later have"
        case .pnm, .tga, .icns, .xpm, .ani: "libgdk-pixbuf-2.0-0"
        default: nil
        }
    }
}
