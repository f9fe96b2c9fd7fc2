import WebImageCodecs
package import WebImageCore
import WebImageFormats
package import WebImageSandbox

extension CoderRegistry {
    /// A registry of all coders of the library, which decode in this process.
    package static var builtIn: CoderRegistry { builtIn(adding: []) }

    /// A registry of all coders of the library, which decode in workers if possible.
    package static var inWorkers: CoderRegistry {
        builtIn(adding: [], sandbox: ImageManager.Configuration.Decoding.automatic.sandbox)
    }

    /// A registry of the app's coders, followed by all coders of the library.
    /// - Parameters:
    ///   - decoders: The app's decoders, in the order in which they are tried.
    ///   - encoders: The app's encoders, in the order in which they are tried.
    ///   - other: The decoder of all other formats, which is tried last.
    ///   - sandbox: The workers for the library's decoders, and whether this process may decode if a worker cannot; `nil` to decode
    ///     in this process.
    ///   - neverHere: Formats that this process decodes only from local files.
    package static func builtIn(
        adding decoders: [any ImageDecoding],
        encoders: [any ImageEncoding] = [],
        other: any ImageDecoding = PixbufCoder(),
        sandbox: (DecodeSandbox, isOptional: Bool)? = nil,
        neverHere: Set<ImageFormat> = []
    ) -> CoderRegistry {
        let builtIn: [any ImageDecoding] = ownDecoders + [HEIFCoder(), JPEGXLCoder(), SVGCoder(), other]
        return CoderRegistry(
            decoders
                + builtIn.map { coder in
                    guard let (sandbox, isOptional) = sandbox else { return coder }
                    return sandbox.sandboxed(coder, isOptional: isOptional, neverHere: neverHere) { format in
                        workerKind(of: coder, format)
                    }
                },
            encoders: encoders + ownEncoders,
            remedy: debianRemedy
        )
    }

    /// Whether the library's decoder of a format runs in a worker, or in another process of gdk-pixbuf.
    static func hasWorker(_ format: ImageFormat) -> Bool {
        format != .pdf && !needsFiles(format)
    }

    /// Whether the loader of a format writes temporary files, or reads the system's table of file types.
    private static func needsFiles(_ format: ImageFormat) -> Bool {
        ["xpm", "image/x-xbitmap", "image/x-quicktime", "icns"].contains(format.rawValue)
    }

    /// The kind of worker in which a decoder runs; `nil` if the decoder uses another process, or none fits.
    private static func workerKind(of coder: any ImageDecoding, _ format: ImageFormat) -> WorkerKind? {
        if coder is SVGCoder { return .drawings }
        if coder is HEIFCoder || coder is JPEGXLCoder { return .modules }
        guard let coder = coder as? PixbufCoder else { return .codecs }
        if coder.decodesElsewhere(format) || needsFiles(format) { return nil }
        return format == .svg ? .drawings : .modules
    }

    /// A registry of the decoders of a worker.
    /// - Parameter added: Decoders that a test adds.
    static func worker(_ kind: WorkerKind, adding added: [any ImageDecoding]) -> CoderRegistry {
        let decoders: [any ImageDecoding] =
            switch kind {
            case .codecs: ownDecoders
            case .modules: [HEIFCoder.loaded(), JPEGXLCoder.loaded(), PixbufCoder()]
            case .drawings: [SVGCoder.loaded(), PixbufCoder()]
            }
        return CoderRegistry(added + decoders, encoders: [], remedy: debianRemedy)
    }
}
